// FMT-5 and the scale policies: the 16 values that a code can mean in one group.
#pragma once

#include <array>

#include "reference/formats/e2m1.h"
#include "reference/formats/e8m0.h"
#include "reference/formats/exact_value.h"
#include "reference/policy.h"

namespace moe4 {

// FMT-2 under COR-1 and COR-2.
ExactValue scale_value(E8M0Bits scale, const Policy& policy);

// FMT-5: code times scale, exact, beyond the range of BF16 and FP32 too (COR-9). What the policies say of
// single codes (COR-1: Inf times a zero code is NaN) follows from the product alone.
ExactValue weight_value(E2M1Bits code, const ExactValue& scale);

// weight_value of the codes 0..15.
std::array<ExactValue, 16> weights_of_group(E8M0Bits scale, const Policy& policy);

}  // namespace moe4
