// The drawn properties of declared_test.cc, for the slow model and for wrong models alike: "" if reference
// and model agree on all problems, each under an arithmetic that follows from the problem alone.
#pragma once

#include <string>

#include "tests/differential/compare_declared.h"

namespace differential {

std::string declared_linear_counterexample(const DeclaredModel& model, slow_model::WeightFormat weights,
                                           bool shrink = true);
std::string declared_rows_counterexample(const DeclaredModel& model, slow_model::WeightFormat weights,
                                         bool shrink = true);
std::string declared_combine_counterexample(const DeclaredModel& model, bool shrink = true);

// Rows with a streamk order and ftz throughout, which the properties above draw seldom.
std::string streamk_with_ftz_counterexample(const DeclaredModel& model);

}  // namespace differential
