// The checks of docs/spec/validation.md for op=expert_linear, with an output among them.
#pragma once

#include "reference/linear/expert_linear.h"

namespace moe4 {

// VAL-1 … VAL-9 with the output; reads nothing but ids, writes nothing.
Result<ExpertLinearDims> validate_with_output(const LinearInputs& inputs, const MutableTensorView& output,
                                              const Policy& policy);

}  // namespace moe4
