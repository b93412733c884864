// Outputs of a declared arithmetic whose accumulation is `exact`, in exact numbers: for classes, for F64, and
// where a double doesn't decide.
#pragma once

#include <cstdint>
#include <span>

#include "reference/accumulate/exact_widths.h"
#include "reference/bound/flat_plan.h"
#include "reference/bound/weight_tables.h"
#include "reference/linear/exact_output.h"
#include "reference/profile/arithmetic.h"

namespace moe4 {

// d of PRO-3, over the extended reals (LIN-5): the slices of a stream-K sum by PRO-17.
DotSum exact_dot(WeightTables& weights, const FlatPlan& plan, std::int64_t e, std::int64_t o,
                 std::span<const ExactValue> x);

struct ExactTerm {
  ExactValue p;
  DotSum d;
};

// What R rounds last: PRO-5 … PRO-9 with A(v) = v. output: the dtype of R.
ExactOutput exact_last_sum(RoundingProfile profile, Dtype output, const ExactValue& s,
                           std::span<const ExactTerm> terms);

}  // namespace moe4
