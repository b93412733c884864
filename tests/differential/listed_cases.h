// Cases written down one by one with the result worked out by hand: the corners of the norm, and the wrong
// results that 4-bit kernels in use are known to have given. Each goes through the reference and the slow
// model.
#pragma once

#include <string>
#include <vector>

#include "tests/support/slow_model/problem.h"

namespace differential {

struct ListedCase {
  std::string name;  // letters, digits and _
  slow_model::Problem problem;
  std::vector<double> expected;  // row-major; every value is exact in the token dtype; -0.0 means -0
};

std::vector<ListedCase> corner_cases();    // docs/spec/corners.md and the extended reals of linear.md
std::vector<ListedCase> rounding_cases();  // the one rounding, in each dtype
std::vector<ListedCase> extreme_cases();   // both ends of the exact sum, in each pair of dtypes
std::vector<ListedCase> fault_cases();     // classes A to D and G to I of known kernel faults

}  // namespace differential
