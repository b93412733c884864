// INT-1: INT4, a 4-bit integer stored with 8 added to it.
#pragma once

#include <cstdint>

#include "reference/formats/exact_value.h"

namespace moe4 {

// A code 0..15; the upper four bits of the byte are zero.
struct Int4Bits {
  std::uint8_t bits;
  friend constexpr bool operator==(Int4Bits, Int4Bits) = default;
};

inline constexpr int kInt4ZeroPoint = 8;

// An integer of small magnitude; zero is positive.
constexpr ExactValue integer_value(int n) {
  return ExactValue::finite(n < 0, static_cast<std::uint64_t>(n < 0 ? -n : n), 0);
}

constexpr ExactValue decode(Int4Bits code) { return integer_value(code.bits - kInt4ZeroPoint); }

}  // namespace moe4
