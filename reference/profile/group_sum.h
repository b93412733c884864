// Σ q·x over one group, q an integer: times a BF16 scale it is a term of a DotSum (INT-10).
#pragma once

#include "reference/accumulate/exact_widths.h"

namespace moe4 {

inline constexpr int kGroupSumLsb = kF64.lsb_exponent();
using GroupSum = ExactSum<35, kGroupSumLsb>;
static_assert(kGroupSumLsb + kBF16.lsb_exponent() >= kDotRange.lsb);

}  // namespace moe4
