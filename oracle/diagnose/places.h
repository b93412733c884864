// Where a fault with parameters could be, given which outputs are wrong.
#pragma once

#include <vector>

#include "oracle/diagnose/mismatch.h"

namespace moe4::oracle {

struct Candidate {
  Site site;
  std::int64_t pick = 0;  // what Scene::pick answers
};

// Places at which the fault could have made these outputs wrong and no others; empty: nowhere. Of a weight,
// those whose change moves the wrong outputs by about what they are off.
std::vector<Candidate> candidates(const Fault& fault, const Scene& scene, const WrongOutputs& wrong);

// In bits: among how many places of the case the fault could have been.
double place_bits(Place place, const Scene& scene);

}  // namespace moe4::oracle
