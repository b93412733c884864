// F16 and BF16 encodings on the host: exact decoding, and rounding once to nearest even.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace moe4::ptx {

inline __attribute__((always_inline)) double f16_value(std::uint16_t h) {
  // The exponent is moved to FP64's by a multiplication that is exact for subnormals too.
  const std::uint64_t magnitude = h & 0x7fffu;
  const double scaled = std::bit_cast<double>(magnitude << 42) * 0x1p1008;
  const auto bits = magnitude >= 0x7c00u ? (0x7ff0000000000000u | ((magnitude & 0x3ffu) << 42))
                                         : std::bit_cast<std::uint64_t>(scaled);
  return std::bit_cast<double>(bits | (static_cast<std::uint64_t>(h & 0x8000u) << 48));
}

inline __attribute__((always_inline)) float bf16_value(std::uint16_t h) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(h) << 16);
}

// BF16 from FP32: the same exponents, so that subnormals need no care.
inline __attribute__((always_inline)) std::uint16_t bf16_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;
  return static_cast<std::uint16_t>(value != value ? 0x7fffu : rounded);
}

// F16 from FP64, exactly rounded. Adding a power of two whose last bit is the wanted one rounds to it.
inline __attribute__((always_inline)) std::uint16_t f16_from_double(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t sign = (bits >> 48) & 0x8000u;
  const double magnitude = std::bit_cast<double>(bits & ~(1ull << 63));
  if (!(magnitude < 65520.0)) {  // 65520 is the midpoint above the largest finite number
    return static_cast<std::uint16_t>(sign | (magnitude != magnitude ? 0x7fffu : 0x7c00u));
  }
  // Bits 52…42 of the pattern stay; the subnormal range shares one last bit, 2^-24.
  if (magnitude < 0x1p-14) {
    const double shifted = magnitude + 0x1p28;  // last bit of [2^28, 2^29) in FP64 is 2^-24
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint64_t>(shifted) & 0xffffu));
  }
  const std::uint64_t m = bits & ~(1ull << 63);
  const std::uint64_t rounded = (m + ((1ull << 41) - 1) + ((m >> 42) & 1)) >> 42;
  return static_cast<std::uint16_t>(sign | (rounded - (1008ull << 10)));
}

// BF16 from an FP64 value that is exact or rounded to odd.
inline __attribute__((always_inline)) std::uint16_t bf16_from_odd(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t sign = (bits >> 48) & 0x8000u;
  const std::uint64_t m = bits & ~(1ull << 63);
  const double magnitude = std::bit_cast<double>(m);
  if (!(magnitude < 0x1.ffp127)) {
    return static_cast<std::uint16_t>(sign | (magnitude != magnitude ? 0x7fffu : 0x7f80u));
  }
  if (magnitude < 0x1p-126) {
    const double shifted = magnitude + 0x1p-81;  // last bit of [2^-81, 2^-80) in FP64 is 2^-133
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint64_t>(shifted) & 0xffffu));
  }
  const std::uint64_t rounded = (m + ((1ull << 44) - 1) + ((m >> 45) & 1)) >> 45;
  return static_cast<std::uint16_t>(sign | (rounded - (896ull << 7)));
}

}  // namespace moe4::ptx
