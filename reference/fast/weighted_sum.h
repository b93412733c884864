// s + Σ_j p_j·d_j in two doubles, with every error on the way bounded.
#pragma once

#include <cstdint>
#include <optional>

#include "reference/fast/counters.h"
#include "reference/fast/round_interval.h"

namespace moe4::fast {

class WeightedSum {
 public:
  explicit WeightedSum(double s);

  // Adds p·d, where the true d is within `error` of d (0: it is d). A NaN or infinite d has error 0.
  void add(double p, double d, double error);

  // The encoding in dtype, counted by how it was proved; nothing, and nothing counted, if it takes the exact
  // accumulator. Precondition: at least one term, and at most 2^20.
  std::optional<std::uint64_t> round(Dtype dtype, Counters& counters) const;

 private:
  void accumulate(double v);

  double high_ = 0;
  double low_ = 0;
  double error_ = 0;
  double special_ = 0;         // the sum of the non-finite terms
  bool non_finite_ = false;    // there are some
  bool unknown_sign_ = false;  // and one of them is ±Inf or NaN, we don't know which
  bool out_of_range_ = false;  // a finite term that two doubles do not hold
};

}  // namespace moe4::fast
