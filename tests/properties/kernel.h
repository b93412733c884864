// What a relation is checked on: the reference, or the reference with a planted fault around it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "reference/linear/mxfp4_expert_linear.h"
#include "tests/support/slow_model/problem.h"

namespace properties {

using Bits = std::vector<std::uint64_t>;
using Kernel = std::function<moe4::Status(const moe4::ExpertLinearInputs&, moe4::MutableTensorView,
                                          const moe4::Policy&)>;

Kernel reference();

// The outputs as encodings. A refusal throws std::runtime_error, which fails the property that asked.
Bits outputs(const Kernel& kernel, const slow_model::Problem& problem);

}  // namespace properties
