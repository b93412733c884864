// Everything that a subject declares of its arithmetic: where it rounds, what it takes for a weight, how and
// in which order it adds (docs/spec/profiles.md).
#pragma once

#include <cstdint>

#include "reference/accumulate/accumulation.h"
#include "reference/accumulate/order.h"
#include "reference/profile/int4_dequant.h"

namespace moe4 {

// Where the terms of an output are rounded to the output dtype on their way into it.
enum class RoundingProfile : std::uint8_t {
  kOnce,         // nowhere but at the end
  kLate,         // each p·d, their sum, and the sum with shared
  kLateBf16Sum,  // each p·d, and after every addition
  kHf,           // each d; the sum of p·d; and the sum with shared
  kEarly,        // p·x, each element, before the product with the weights
};

// What an MXFP4 kernel multiplies with: the weight, or its BF16, which overflows from scale byte 253 on.
enum class WeightOperand : std::uint8_t { kExact, kBf16 };

struct Arithmetic {
  Order order = {};            // default: any
  bool product_rounded = false;  // w·x is rounded before it is added (no FMA); only matters if inexact
  bool ftz = false;              // subnormal results and operands are flushed
  RoundingProfile profile = RoundingProfile::kOnce;
  WeightOperand weight = WeightOperand::kExact;
  Int4Order dequant = Int4Order::kNorm;
  Accumulation accumulation = {};
};

}  // namespace moe4
