// The proved interval of every output of an expert linear under profile `once` (docs/spec/bounds.md).
//
// A kernel that forms each dot product over i in the declared order and arithmetic, combines the slots and
// the shared output in that same arithmetic in any order, and rounds once to the output dtype must return a
// value inside [lo, hi]. The ends are outputs themselves (encodings), so lo == hi means: these bits are due.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/linear/mxfp4_expert_linear.h"
#include "reference/profile/arithmetic.h"

namespace moe4 {

enum class OutputClass : std::uint8_t { kFinite, kNan, kPlusInf, kMinusInf };

struct OutputInterval {
  std::uint64_t exact = 0;  // the norm's bits
  std::uint64_t lo = 0;     // encodings in the output dtype; lo <= hi as numbers
  std::uint64_t hi = 0;
  OutputClass cls = OutputClass::kFinite;  // non-finite by rule LIN-5: judged by class, lo and hi equal exact
  bool may_overflow =
      false;  // an intermediate may overflow: Inf or NaN is acceptable besides [lo, hi] (BND-12, BND-13)
  double error = 0;  // E: how far the kernel's sum may be from the exact one before the last rounding
};

struct OnceBounds {
  std::int64_t tokens = 0;
  std::int64_t out = 0;
  std::vector<OutputInterval> outputs;  // [T,O]
  double singleton_share = 0;           // share of outputs with lo == hi and without may_overflow
};

// VAL-1 … VAL-9 and BND-15.
Result<OnceBounds> once_bounds(const ExpertLinearInputs& inputs, const Policy& policy,
                               const Arithmetic& arithmetic);

}  // namespace moe4
