// A valid case, its norm, and a source of parameters: what faults are planted in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "oracle/case/norm.h"
#include "oracle/case/output_rows.h"
#include "oracle/generate/random.h"
#include "oracle/subject/subject.h"
#include "reference/linear/exact_output.h"

namespace moe4::oracle {

// One weight that takes part in one output.
struct Site {
  std::size_t index = 0;  // into rows()
  std::int64_t row = 0, source = 0, slot = 0, expert = 0, out = 0, group = 0, in = 0;
};

// The products w·x of a case are few enough for what is slow.
bool is_small(const CaseData& data, const std::vector<OutputRow>& rows);

class Scene {
 public:
  Scene(const CaseData& data, const Norm& norm, Key key);

  const CaseData& data() const { return data_; }
  const Norm& norm() const { return norm_; }
  const OutputShape& shape() const { return shape_; }
  const std::vector<OutputRow>& rows() const { return rows_; }
  std::int64_t in() const { return in_; }
  std::int64_t groups() const { return in_ / kGroupSize; }

  // 0 … n-1, another one at each call. Precondition: n > 0.
  std::int64_t pick(std::int64_t n) {
    return forced_ ? std::min(forced_->pick, n - 1) : key_(drawn_++).pick(n);
  }
  // A weight behind an output, by preference one that meets a token that is not zero; nothing if no row has
  // an expert.
  std::optional<Site> site();
  // From now on site() and pick() answer with these.
  void force(const Site& site, std::int64_t pick) { forced_ = Forced{site, pick}; }
  // The kernel promises the bits of this arithmetic (VER-17): what it makes of tensors is what the arithmetic
  // gives, and not their norm. Null: it is judged by interval, and the norm stands for it.
  void declare(const Arithmetic& arithmetic) { declared_ = arithmetic; }
  const Arithmetic* declared() const { return declared_ ? &*declared_ : nullptr; }
  // In words, where the fault is.
  void note(std::string text) { where_ = std::move(text); }
  const std::string& where() const { return where_; }

  // The tensors of the case, to be altered. A weight tensor too large to copy is cut down to the experts that
  // are used, under new ids (expert_linear only).
  CaseData copy() const;
  // What is slow is not done in cases of many products.
  bool small() const { return is_small(data_, rows_); }

 private:
  struct Forced {
    Site site;
    std::int64_t pick = 0;
  };

  const CaseData& data_;
  const Norm& norm_;
  std::optional<Forced> forced_;
  std::optional<Arithmetic> declared_;
  OutputShape shape_;
  std::vector<OutputRow> rows_;
  std::int64_t in_;
  Key key_;
  std::int64_t drawn_ = 0;
  std::string where_;
};

// The healthy run: the norm.
SubjectRun healthy_run(const Norm& norm);

// Replaces the run by what a healthy kernel makes of other tensors; rows that these don't give keep their
// zeros.
Status recompute(const Scene& scene, const CaseData& seen, SubjectRun& run);

// Copies single outputs of `from`, which has the elements of `to`.
void take_output(const Tensor& from, std::int64_t index, Tensor& to);
std::uint64_t output_bits(const Tensor& output, std::int64_t index);
void set_output_bits(Tensor& output, std::int64_t index, std::uint64_t bits);

// Calls `see` for every counted output with its flat index and what is rounded to it.
void for_each_exact(const Scene& scene, const std::function<void(std::int64_t, const ExactOutput&)>& see);

// The weights of a copy, a code and a scale at a time. Precondition: the case has weights.
class Weights {
 public:
  explicit Weights(CaseData& data);
  std::int64_t experts() const { return experts_; }
  std::int64_t out() const { return out_; }
  std::int64_t groups() const { return groups_; }
  std::int64_t in() const { return groups_ * kGroupSize; }
  bool int4() const { return int4_; }

  unsigned code(std::int64_t e, std::int64_t o, std::int64_t i) const;
  void set_code(std::int64_t e, std::int64_t o, std::int64_t i, unsigned code);
  // The code of zero in every element of a group.
  void clear_group(std::int64_t e, std::int64_t o, std::int64_t g);
  unsigned scale(std::int64_t e, std::int64_t o, std::int64_t g) const;  // byte, or BF16 encoding
  void set_scale(std::int64_t e, std::int64_t o, std::int64_t g, unsigned scale);

  void for_each_code(const std::function<unsigned(unsigned)>& map);
  void for_each_scale(const std::function<unsigned(unsigned)>& map);

 private:
  std::int64_t at(std::int64_t e, std::int64_t o, std::int64_t g) const {
    return (e * out_ + o) * groups_ + g;
  }
  CaseData& data_;
  std::int64_t experts_, out_, groups_;
  bool int4_;
};

// Tokens seen as [rows, I], by encoding.
std::uint64_t token_bits(const CaseData& data, std::int64_t row, std::int64_t i);
void set_token_bits(CaseData& data, std::int64_t row, std::int64_t i, std::uint64_t bits);
std::int64_t token_rows(const CaseData& data);

}  // namespace moe4::oracle
