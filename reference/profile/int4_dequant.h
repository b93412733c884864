// The orders in which INT4 weights are dequantised, by stacks or by mistake (INT-9, INT-10). The norm is one
// of them; linear/ knows only that one.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "reference/formats/exact_value.h"
#include "reference/formats/float_format.h"
#include "reference/formats/int4.h"
#include "reference/status.h"

namespace moe4 {

enum class Int4Order : std::uint8_t {
  kNorm,
  kFma,
  kTwoRoundings,
  kTruncate,
  kTiesAway,
  kF32Scale,
  kF16Multiply,
  kZeroPoint7,
  kTwosComplement,
  kAccumulatorScale,
  kExactW,
};

struct Int4OrderInfo {
  Int4Order order;
  std::string_view name;     // "norm", "fma", …
  std::string_view formula;  // in c, s, q = c - 8
};
std::span<const Int4OrderInfo> int4_orders();  // in the order of the enum
std::string_view name_of(Int4Order order);
Result<Int4Order> parse_int4_order(std::string_view name);  // an unknown name is an Error that lists them

// What an order makes of a code: the sum of a group is group_factor · Σ weight · x. The factor is 1 but for
// kAccumulatorScale, where it is the scale.
struct Int4Term {
  ExactValue weight;
  ExactValue group_factor;
};
Int4Term dequantise(Int4Bits code, BF16Bits scale, Int4Order order);

// For a scale that is kept in F32: kF32Scale uses it as it is, every other order rounds it to BF16 first.
Int4Term dequantise(Int4Bits code, F32Bits scale, Int4Order order);

}  // namespace moe4
