// The activations of profile `early` (PRO-9).
#pragma once

#include <span>

#include "reference/formats/exact_value.h"
#include "reference/profile/arithmetic.h"
#include "reference/tensor.h"

namespace moe4 {

// row[i] becomes R(A(P · row[i])), P = A(p); tokens: their dtype, which is the output's.
void weigh(std::span<ExactValue> row, const ExactValue& p, Dtype tokens, const Arithmetic& arithmetic);

}  // namespace moe4
