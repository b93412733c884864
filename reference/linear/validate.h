// The checks of docs/spec/validation.md with an output among them.
#pragma once

#include "reference/linear/mxfp4_expert_linear.h"

namespace moe4 {

// VAL-1 … VAL-9 with the output; reads nothing but ids, writes nothing.
Result<ExpertLinearDims> validate_with_output(const ExpertLinearInputs& inputs,
                                              const MutableTensorView& output, const Policy& policy);

}  // namespace moe4
