// RapidCheck generators of problems. Problems are drawn as encodings, never as floats: RapidCheck's own
// floats hold no NaN, Inf or subnormal.
#pragma once

#include <rapidcheck/Gen.h>

#include <iosfwd>

#include "tests/support/problems/draw_combine.h"
#include "tests/support/problems/draw_rows.h"
#include "tests/support/slow_model/problem.h"

namespace problems {

struct Drawn {
  bool non_finite = true;  // NaN and Inf in tokens, p, shared; scale byte 255
  bool ids_absent = true;  // ids=absent with -1 among the ids
  bool empty = true;       // T, O or K may be 0
  slow_model::WeightFormat weights = slow_model::WeightFormat::kMxfp4;
};

// T 0..3, E 1..4, I 32|64|96, O 0..3, K 0..4; every dtype; every policy; valid.
rc::Gen<slow_model::Problem> any_problem(const Drawn& drawn = {});
rc::Gen<slow_model::RowsProblem> any_rows(slow_model::RowsOp op, slow_model::WeightFormat weights);
rc::Gen<slow_model::CombineProblem> any_combine();

}  // namespace problems

namespace slow_model {

// Shapes, dtypes, policies and every tensor in hex: enough to type the problem in again.
std::ostream& operator<<(std::ostream& stream, const Problem& problem);

}  // namespace slow_model
