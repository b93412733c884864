// What a kernel may return, from what it may hold as dot products: the declared rounding points, one after
// the other (BND-9 … BND-13, BND-25 … BND-28).
#pragma once

#include <cstdint>
#include <span>

#include "reference/bound/accumulation_format.h"
#include "reference/bound/dot_bound.h"
#include "reference/formats/exact_value.h"

namespace moe4 {

// A mixture weight as the bound sees it.
struct SlotWeight {
  double exact = 0;      // p; 0 if it is not finite
  double magnitude = 0;  // |p|
  double used = 0;       // P of PRO-2: p in the accumulation format
  int low_bit = kNoBit;
  bool finite = true;
  bool converts = false;  // F64, rounded to the accumulation format before use

  SlotWeight(const ExactValue& p, Dtype dtype, const AccumulationFormat& format);
};

// One slot of one output.
struct SlotBound {
  const SlotWeight& p;
  const DotBound& dot;
  bool operands_finite;  // no operand of the dot product is NaN or infinite
};

// The number that a kernel rounds last.
struct LastSum {
  double lo = 0;  // what the kernel holds is in [lo, hi]
  double hi = 0;
  double exact = 0;  // with nothing rounded but by the R of the profile (PRO-1)
  double slack = 0;  // |`exact` - its true value|; infinite if it is not known that well
  double below = 0;  // profile once: what the kernel holds is in [Y - below, Y + above], Y the exact sum
  double above = 0;
  bool may_overflow = false;  // BND-12; for outputs that are not finite by rule, BND-13
};

struct OutputCall {
  const AccumulationFormat& format;
  RoundingProfile profile;
  Dtype output;
};

// s: the shared output; not finite: 0. finite_by_rule: the class of the output (LIN-5). Slots in their order.
LastSum last_sum(const OutputCall& call, std::span<const SlotBound> slots, double s, bool finite_by_rule);

// BND-9, BND-10: profile once. Also part of last_sum.
LastSum sum_once(const AccumulationFormat& format, std::span<const SlotBound> slots, double s);

// BND-25 … BND-27: late, late_bf16_sum, hf.
LastSum sum_by_profile(const OutputCall& call, std::span<const SlotBound> slots, double s);

}  // namespace moe4
