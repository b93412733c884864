// FMT-2: E8M0, the shared scale of a group of MXFP4 elements.
#pragma once

#include <cstdint>

#include "reference/formats/exact_value.h"

namespace moe4 {

struct E8M0Bits {
  std::uint8_t bits;
  friend constexpr bool operator==(E8M0Bits, E8M0Bits) = default;
};

inline constexpr int kE8M0Bias = 127;
inline constexpr E8M0Bits kE8M0Nan{255};

// 2^(b-127) for b in 0..254, byte 0 included; 255 is NaN.
constexpr ExactValue decode(E8M0Bits scale) {
  if (scale == kE8M0Nan) return ExactValue::nan();
  return ExactValue::finite(false, 1, scale.bits - kE8M0Bias);
}

}  // namespace moe4
