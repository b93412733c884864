// op=combine as a declared kernel computes it (PRO-11).
#pragma once

#include "reference/linear/combine.h"
#include "reference/profile/arithmetic.h"

namespace moe4 {

// Shapes, dtypes and refusals as combine.h, and PRO-20.
Result<Tensor> declared_combine(const CombineInputs& inputs, Dtype output_dtype, const Arithmetic& arithmetic,
                                const Policy& policy = {});

}  // namespace moe4
