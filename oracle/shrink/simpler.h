// The steps by which a case line becomes simpler.
#pragma once

#include <vector>

#include "oracle/case/case.h"

namespace moe4::oracle {

// Valid cases that are simpler than `c` in one respect, the boldest first: fewer tokens, outputs, groups,
// experts, slots; a simpler fill and routing; a key that takes its default. Empty: nothing is simpler. Every
// chain of such steps ends.
std::vector<Case> simpler_cases(const Case& c);

}  // namespace moe4::oracle
