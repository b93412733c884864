// INT-4: the weight of an INT4 code, the norm's order only. Other orders are in profile/int4_dequant.h.
#pragma once

#include <array>

#include "reference/formats/exact_value.h"
#include "reference/formats/float_format.h"
#include "reference/formats/int4.h"

namespace moe4 {

// RNE_bf16(q·s) for any scale (INT-4, INT-5): overflow gives an infinity, NaN is canonical, a zero has the
// sign of the product.
BF16Bits int4_weight(Int4Bits code, BF16Bits scale);

// int4_weight of the codes 0..15, decoded.
std::array<ExactValue, 16> weights_of_group(BF16Bits scale);

}  // namespace moe4
