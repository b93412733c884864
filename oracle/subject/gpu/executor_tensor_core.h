// The reference's tensor-core step as the executor's arithmetic.
#pragma once

#include <string_view>

#include "gpu/ptx/tensor_core.h"

namespace moe4::oracle {

// The generation of that name (reference/accumulate/accumulation.h: "hopper"); nullptr: there is none. Lives
// as long as the program.
const ptx::TensorCore* executor_tensor_core(std::string_view hardware);

}  // namespace moe4::oracle
