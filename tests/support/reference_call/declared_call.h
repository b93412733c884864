// The reference's declared arithmetic applied to problems of the slow model.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/profile/arithmetic.h"
#include "tests/support/slow_model/combine.h"
#include "tests/support/slow_model/rows.h"

namespace reference_call {

using Encodings = std::vector<std::uint64_t>;

moe4::Result<Encodings> declared(const slow_model::Problem& problem, const moe4::Arithmetic& arithmetic);
moe4::Result<slow_model::RowsOutcome> declared(const slow_model::RowsProblem& problem,
                                               const moe4::Arithmetic& arithmetic);
moe4::Result<Encodings> declared(const slow_model::CombineProblem& problem,
                                 const moe4::Arithmetic& arithmetic);

}  // namespace reference_call
