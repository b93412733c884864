// The error of a whole output, from the bounds of its dot products (BND-9, BND-10, BND-12, BND-13).
#pragma once

#include <cstdint>

#include "reference/bound/dot_bound.h"
#include "reference/formats/exact_value.h"

namespace moe4 {

// What a slot's mixture weight is to the bound.
struct SlotWeight {
  double magnitude = 0;  // |p|; 0 if it is not finite
  int low_bit = kNoBit;
  bool finite = true;
  bool converts = false;  // F64, rounded to the accumulation format before use

  SlotWeight(const ExactValue& p, Dtype dtype, const AccumulationFormat& format);
};

// Gathers the terms of one output; add in any order, then finish.
class OutputBound {
 public:
  void add_slot(const SlotWeight& p, const DotBound& dot, bool operands_finite,
                const AccumulationFormat& format);

  // An output that is one dot product and nothing else (BND-17).
  static OutputBound of_row(const DotBound& dot);

  struct Result {
    double error = 0;           // E of BND-9 or 0 by BND-10; may be infinite (F64 only)
    bool may_overflow = false;  // BND-12; for outputs that are not finite by rule, BND-13
  };
  // s: the shared output, 0 if it is not finite. finite_by_rule: the class of the output (LIN-5).
  Result finish(double s, bool finite_by_rule, const AccumulationFormat& format) const;

 private:
  double dot_errors_ = 0;   // sum of |p| E_j
  double magnitudes_ = 0;   // B of BND-9 without |s|
  double conversions_ = 0;  // sum of D_j + E_j over the p that convert
  double terms_ = 0;        // sum of |p| sum of |w x|
  int low_bit_ = kNoBit;
  std::int64_t slots_ = 0;
  bool converts_ = false;
  bool row_ = false;
  bool exact_ = true;       // BND-10 so far
  bool overflow_ = false;   // BND-12
  bool unsettled_ = false;  // BND-13
};

}  // namespace moe4
