// Accumulate: one row of one expert against one activation row, exactly.
#pragma once

#include <cstdint>
#include <span>

#include "reference/accumulate/exact_widths.h"
#include "reference/linear/expert_weights.h"

namespace moe4 {

// Σ_i W[e][o,i] · x[i] over the extended reals (LIN-2, LIN-5, INT-6). Reads nothing of other experts (LIN-4).
// Precondition: x has I elements.
DotSum row_dot(const WeightReader& weights, std::int64_t e, std::int64_t o, std::span<const ExactValue> x);

}  // namespace moe4
