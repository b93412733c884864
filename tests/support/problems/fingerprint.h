// A number that differs from problem to problem and is the same whenever a problem is looked at again:
// properties take their own choices from it, so that a failure can be shrunk and reproduced.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/slow_model/problem.h"

namespace problems {

std::uint64_t fingerprint(const slow_model::Problem& problem);

// 0..n-1 in an order that depends on the problem alone.
std::vector<std::int64_t> permutation(const slow_model::Problem& problem, std::int64_t n);

}  // namespace problems
