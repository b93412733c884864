// Rounding of an exact value to any binary format, in integers.
#pragma once

#include <cstdint>

#include "gpu/ptx/alu/alu.h"

namespace moe4::ptx {

struct FloatFormat {
  int exponent_bits = 8, mantissa_bits = 23;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};
inline constexpr FloatFormat kFormatF16{5, 10}, kFormatBF16{8, 7}, kFormatF32{8, 23}, kFormatF64{11, 52};

// A number (-1)^negative * significand * 2^exponent, exact; or a special.
struct Exact {
  enum class Kind : std::uint8_t { kZero, kFinite, kInfinite, kNan } kind = Kind::kZero;
  bool negative = false;
  std::uint64_t significand = 0;
  int exponent = 0;
};

Exact exact_from_bits(std::uint64_t bits, FloatFormat format);
Exact exact_from_integer(std::uint64_t magnitude, bool negative);

// The encoding, rounded once. A NaN becomes the canonical one.
std::uint64_t round_to(const Exact& value, FloatFormat format, Rounding rounding);

// The integer nearest by `rounding`, clamped to [low, high]; for kFinite and kZero only.
__int128 round_to_integer(const Exact& value, Rounding rounding);

}  // namespace moe4::ptx
