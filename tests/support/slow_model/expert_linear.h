// The slow model of op=expert_linear: a second implementation of docs/spec/linear.md, int4.md and corners.md,
// which shares no line with reference/ and knows none of its headers. Exact and plain; a small
// problem takes well under a millisecond.
//
// Each step is a virtual function, so that a test can plant one wrong step and see it found.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/slow_model/layer_model.h"
#include "tests/support/slow_model/problem.h"

namespace slow_model {

class ExpertLinear : public LayerModel {
 public:
  // The output [T,O] as encodings of the token format. Precondition: the problem is valid (validity.h).
  std::vector<std::uint64_t> outputs(const Problem& problem) const;

  // What RNE is applied to in LIN-1, for one output.
  Extended before_rounding(const Problem& problem, std::int64_t t, std::int64_t o) const;

  // The slots of token t that contribute, in order (COR-5, COR-6).
  virtual std::vector<std::int64_t> slots(const Problem& problem, std::int64_t t) const;

 protected:
  virtual std::int64_t summed_width(const Problem& problem) const;
  virtual Extended token(const Problem& problem, std::int64_t t, std::int64_t i) const;
  virtual Extended mixture(const Problem& problem, std::int64_t t, std::int64_t slot) const;
  virtual Extended shared(const Problem& problem, std::int64_t t, std::int64_t o) const;
  virtual std::int64_t expert(const Problem& problem, std::int64_t t, std::int64_t slot) const;
  virtual Extended dot(const Problem& problem, std::int64_t t, std::int64_t expert, std::int64_t o) const;
  virtual Extended weighted(const Problem& problem, const Extended& p, const Extended& dot) const;
  virtual std::uint64_t rounded(const FloatFormat& format, const Dyadic& number) const;
  virtual std::uint64_t zero_result(const Problem& problem, std::int64_t t, std::int64_t o) const;
};

// The norm.
std::vector<std::uint64_t> expert_linear(const Problem& problem);

// Equal as COR-3 `strict` and COR-4 say: the same encoding, or both NaN.
bool same_value(const FloatFormat& format, std::uint64_t a, std::uint64_t b);

}  // namespace slow_model
