// The reference's tensor-core step as the executor's arithmetic.
#pragma once

#include <string_view>

#include "gpu/ptx/tensor_core.h"
#include "oracle/case/case_data.h"
#include "oracle/subject/declaration.h"

namespace moe4::oracle {

// The generation of that name (reference/accumulate/accumulation.h: "hopper"); nullptr: there is none. Lives
// as long as the program.
const ptx::TensorCore* executor_tensor_core(std::string_view hardware);

// Whose tensor cores multiply in this case (CASE-19): the case's, else the declared generation, else `usual`.
const ptx::TensorCore* executor_tensor_core(const CaseData& data, const Declaration& declaration,
                                            std::string_view usual);

}  // namespace moe4::oracle
