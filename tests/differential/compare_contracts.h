// The reference's serving contracts held against models of tests/support/slow_model, bit for bit: outputs,
// which rows are written, and what the others still hold.
#pragma once

#include <string>

#include "tests/support/slow_model/combine.h"
#include "tests/support/slow_model/rows.h"

namespace differential {

// "" if reference and model agree (NaN by class: COR-4); otherwise where they first differ.
std::string disagreement(const slow_model::Rows& model, const slow_model::RowsProblem& problem);
std::string disagreement(const slow_model::Combine& model, const slow_model::CombineProblem& problem);

// As many problems as every drawn property of a contract looks at.
inline constexpr int kDrawnContracts = 2500;

}  // namespace differential
