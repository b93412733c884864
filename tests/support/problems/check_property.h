// Runs a property over drawn problems and shrinks a failure. RapidCheck's heavy headers stay in the .cc, so
// that tests which use it compile fast.
#pragma once

#include <functional>
#include <string>

#include "tests/support/problems/generators.h"

namespace problems {

// "" if the property holds, otherwise what is wrong. Such a function never asserts.
using Property = std::function<std::string(const slow_model::Problem&)>;

// "" if the property holds for `count` drawn problems; otherwise RapidCheck's report with the shrunk problem
// and the string to reproduce it. The seed is RC_PARAMS's, as ctest sets it, or a new one.
std::string counterexample(const Property& property, int count, const Drawn& drawn = {}, bool shrink = true);

// The same for problems of draw_rows.h and draw_combine.h.
using RowsProperty = std::function<std::string(const slow_model::RowsProblem&)>;
std::string rows_counterexample(const RowsProperty& property, int count, slow_model::RowsOp op,
                                slow_model::WeightFormat weights, bool shrink = true);
using CombineProperty = std::function<std::string(const slow_model::CombineProblem&)>;
std::string combine_counterexample(const CombineProperty& property, int count, bool shrink = true);

}  // namespace problems
