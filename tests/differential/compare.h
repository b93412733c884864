// The reference held against a model of tests/support/slow_model, bit for bit.
#pragma once

#include <string>

#include "tests/support/slow_model/expert_linear.h"

namespace differential {

// "" if the reference and the model give the same encodings (±0 apart, NaN by class: COR-3, COR-4); otherwise
// where they first differ, or why the reference refused.
std::string disagreement(const slow_model::ExpertLinear& model, const slow_model::Problem& problem);

// The same for the slow model itself.
std::string disagreement(const slow_model::Problem& problem);

// As many problems as every drawn property here looks at.
inline constexpr int kDrawnProblems = 12000;
inline constexpr int kDrawnInt4Problems = 4000;

}  // namespace differential
