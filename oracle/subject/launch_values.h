// What a launch declaration may name, for one case: the values of its letters, its tensors.
#pragma once

#include <string_view>

#include "oracle/case/case_data.h"
#include "oracle/subject/expression.h"

namespace moe4::oracle {

// Precondition of all: the case is valid for its operation.
Letters letters_of(const CaseData& data);

// An input of the case, weights in the layout that the case asks for; nullptr if its operation has none of
// that name.
const Tensor* tensor_of(const CaseData& data, std::string_view name);

}  // namespace moe4::oracle
