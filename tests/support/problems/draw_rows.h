// Problems of indexed, grouped_contiguous and grouped_masked: every routing that has a norm, with sentinels
// and padding anywhere, tails, empty experts, and poison in whatever may not be read.
#pragma once

#include <iosfwd>
#include <vector>

#include "tests/support/problems/draw.h"
#include "tests/support/slow_model/rows.h"

namespace problems {

// E 0..4 (0 seldom), I 32|64|96, O 0..3, up to 8 rows of tokens; scale policies; valid.
slow_model::RowsProblem draw_rows(Draw& draw, slow_model::RowsOp op, slow_model::WeightFormat weights);

// Smaller or plainer problems, the most drastic first.
std::vector<slow_model::RowsProblem> shrinks(const slow_model::RowsProblem& problem);

}  // namespace problems

namespace slow_model {

std::ostream& operator<<(std::ostream& stream, const RowsProblem& problem);

}  // namespace slow_model
