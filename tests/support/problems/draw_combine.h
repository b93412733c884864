// Problems of combine: every pair of dtypes, absent and skipped slots with poison in them, sums aimed at
// ties.
#pragma once

#include <iosfwd>
#include <vector>

#include "tests/support/problems/draw.h"
#include "tests/support/slow_model/combine.h"

namespace problems {

// T 0..3, K 0..4, O 0..3; policies; valid.
slow_model::CombineProblem draw_combine(Draw& draw);

// Smaller or plainer problems, the most drastic first.
std::vector<slow_model::CombineProblem> shrinks(const slow_model::CombineProblem& problem);

}  // namespace problems

namespace slow_model {

std::ostream& operator<<(std::ostream& stream, const CombineProblem& problem);

}  // namespace slow_model
