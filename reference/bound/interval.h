// From an exact output and the bound of its error to what a kernel may return (BND-11, BND-13).
#pragma once

#include <cstdint>
#include <span>

#include "reference/bound/bounds.h"
#include "reference/bound/output_bound.h"
#include "reference/linear/exact_output.h"

namespace moe4 {

OutputClass class_of(SumClass cls);

// s: the shared output, 0 if it is not finite or there is none.
OutputInterval interval(const ExactOutput& exact, const OutputBound& bound, double s, Dtype dtype,
                        const AccumulationFormat& format);

inline bool is_singleton(const OutputInterval& y) { return y.lo == y.hi && !y.may_overflow; }

// Fills in the share from the outputs that count.
void count_singletons(OutputBounds& bounds);

}  // namespace moe4
