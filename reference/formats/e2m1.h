// FMT-1: E2M1, the 4-bit element of MXFP4.
#pragma once

#include <array>
#include <cstdint>

#include "reference/formats/exact_value.h"

namespace moe4 {

// A code 0..15; the upper four bits of the byte are zero.
struct E2M1Bits {
  std::uint8_t bits;
  friend constexpr bool operator==(E2M1Bits, E2M1Bits) = default;
};

// Codes 0..7 in units of one half: 0, 0.5, 1, 1.5, 2, 3, 4, 6.
inline constexpr std::array<std::uint8_t, 8> kE2M1Halves = {0, 1, 2, 3, 4, 6, 8, 12};

// No code is Inf or NaN; code 8 is -0, a zero like code 0 (COR-8).
constexpr ExactValue decode(E2M1Bits code) {
  const bool negative = (code.bits & 8) != 0;
  return ExactValue::finite(negative, kE2M1Halves[code.bits & 7], -1);
}

}  // namespace moe4
