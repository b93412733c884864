// A case file's tensors as a problem of the slow model.
#pragma once

#include "oracle/case/case_data.h"
#include "tests/support/slow_model/combine.h"
#include "tests/support/slow_model/expert_linear.h"
#include "tests/support/slow_model/rows.h"

namespace differential {

// Precondition for each: data is valid and of that operation.
slow_model::Problem linear_problem(const moe4::oracle::CaseData& data);
slow_model::RowsProblem rows_problem(const moe4::oracle::CaseData& data);
slow_model::CombineProblem combine_problem(const moe4::oracle::CaseData& data);

// The encodings of any tensor, zero-extended; ids keep their sign.
std::vector<std::uint64_t> encodings_of(const moe4::Tensor& tensor);

}  // namespace differential
