// Which weight, group or row of weights, altered as a fault alters it, moves the wrong outputs by what they
// are off.
#pragma once

#include <vector>

#include "oracle/diagnose/mismatch.h"

namespace moe4::oracle {

// The best first, at most 32. Precondition: planting.change is there; all wrong outputs are in one column.
std::vector<Site> search_weights(const Planting& planting, const Scene& scene, const WrongOutputs& wrong);

}  // namespace moe4::oracle
