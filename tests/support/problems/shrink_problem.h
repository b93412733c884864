// Smaller or plainer problems, the most drastic first: what RapidCheck tries on a failing one.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/slow_model/problem.h"

namespace problems {

std::vector<slow_model::Problem> shrinks(const slow_model::Problem& problem);

// The parts, each of which keeps the data of what stays. Also used by properties that split a batch.
slow_model::Problem keep_tokens(const slow_model::Problem& problem, const std::vector<std::int64_t>& tokens);
slow_model::Problem keep_slots(const slow_model::Problem& problem, const std::vector<std::int64_t>& slots);
slow_model::Problem keep_outputs(const slow_model::Problem& problem,
                                 const std::vector<std::int64_t>& outputs);
slow_model::Problem keep_groups(const slow_model::Problem& problem, const std::vector<std::int64_t>& groups);
// Reorders or drops experts; ids follow. Precondition: every selected expert is kept.
slow_model::Problem keep_experts(const slow_model::Problem& problem,
                                 const std::vector<std::int64_t>& experts);

// The same of the weights alone, from `layer` into `result`.
void keep_layer_outputs(const slow_model::Layer& layer, const std::vector<std::int64_t>& outputs,
                        slow_model::Layer& result);
void keep_layer_groups(const slow_model::Layer& layer, const std::vector<std::int64_t>& groups,
                       slow_model::Layer& result);

}  // namespace problems
