// From the number that a kernel rounds last to what it may return (BND-11, BND-13).
#pragma once

#include <cstdint>
#include <functional>

#include "reference/bound/bounds.h"
#include "reference/bound/output_bound.h"
#include "reference/linear/exact_output.h"

namespace moe4 {

struct IntervalCall {
  Dtype output;
  bool exact_accumulation;  // the accumulation `exact`: one value is due
  bool wide;                // doubles decide nothing: F64 accumulation, or an F64 p beyond their range
  bool finite_by_rule;      // false: look at the class (LIN-5)
};

// exact: the same sum in exact numbers; called only where it's needed.
OutputInterval interval(const IntervalCall& call, const LastSum& sum,
                        const std::function<ExactOutput()>& exact);

inline bool is_singleton(const OutputInterval& y) { return y.lo == y.hi && !y.may_overflow; }

// Fills in the share from the outputs that count.
void count_singletons(OutputBounds& bounds);

}  // namespace moe4
