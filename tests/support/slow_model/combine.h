// The slow model of combine (RTE-13 to RTE-15). Each step is a virtual function, so that a test can plant one
// wrong step and see it found.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tests/support/slow_model/problem.h"

namespace slow_model {

struct CombineProblem {
  std::int64_t tokens = 0;  // T
  std::int64_t top_k = 0;   // K
  std::int64_t out = 0;     // O

  std::vector<std::uint64_t> rows;  // BF16 [T*K, O]
  FloatTensor mixture_weights;      // [T, K]
  bool wide_ids = false;
  std::optional<std::vector<std::int64_t>> selected_experts;  // [T, K]
  FloatTensor shared_output;                                  // [T, O]
  FloatFormat output_format = kBf16;
  Policy policy;
  std::uint64_t seed = 0;  // as in layer.h
};

class Combine {
 public:
  virtual ~Combine() = default;

  // [T,O] as encodings of output_format. Precondition: the problem is valid.
  std::vector<std::uint64_t> outputs(const CombineProblem& problem) const;

  // The sum before its rounding.
  virtual Extended before_rounding(const CombineProblem& problem, std::int64_t t, std::int64_t o) const;

  // The slots of token t that contribute, in order.
  virtual std::vector<std::int64_t> slots(const CombineProblem& problem, std::int64_t t) const;

 protected:
  virtual bool absent(const CombineProblem& problem, std::int64_t t, std::int64_t slot) const;
  virtual bool skipped(const CombineProblem& problem, std::uint64_t p) const;
  virtual std::int64_t row_of(const CombineProblem& problem, std::int64_t t, std::int64_t slot) const;
  virtual Extended term(const CombineProblem& problem, const Extended& p, const Extended& row) const;
  virtual Extended shared(const CombineProblem& problem, std::int64_t t, std::int64_t o) const;
  virtual std::uint64_t rounded(const FloatFormat& format, const Dyadic& number) const;
  virtual std::uint64_t zero_result(const CombineProblem& problem, std::int64_t t, std::int64_t o) const;
};

}  // namespace slow_model
