// MXFP4 codes and scale bytes as FP32 factors, without a table.
//
// A weight is code × 2^(s-127), for s in 0..254 anywhere from 2^-128 to 6·2^127; the upper end is beyond
// FP32. So the scale is split: 2^(s-127) = 2^-126 · narrow · wide, and `wide` is applied where it can no
// longer overflow early.
#pragma once

#include <cstdint>

#include "gpu/kernels/device/numeric.cuh"

namespace moe4::device {

constexpr int kGroup = 32;       // codes that share a scale byte
constexpr int kGroupBytes = 16;  // two codes a byte: a group is one 16-byte load

// Code k (0..7) of eight packed codes, times 2^-126: exact.
// The three magnitude bits eem go to bits 24..22, the lowest bits of the exponent and the highest of the
// mantissa. FP32 then reads them as E2M1 does, with its own smallest exponent: ee = 0 is a subnormal,
// m·2^-127; else (1+m/2)·2^(ee-127). The arithmetic shift carries the sign to bit 31 and leaves copies of it,
// which the mask removes.
__device__ __forceinline__ float code_times_2_pow_minus_126(std::uint32_t eight_codes, int k) {
  const std::int32_t code_on_top = static_cast<std::int32_t>(eight_codes << (28 - 4 * k));
  return float_of_bits(static_cast<std::uint32_t>(code_on_top >> 6) & 0x81C00000u);
}

// 2^(s-127) = 2^-126 · narrow · wide, with narrow <= 2^127 and wide = 1 for s <= 128. Byte 255: narrow is
// NaN.
struct Scale {
  float narrow;  // 2^min(s-1, 127): brings a code's 2^-126 to code·2^(s-127) for s <= 128, to 2·code above
  float wide;    // 2^max(s-128, 0), at most 2^126
};

__device__ __forceinline__ Scale split_scale(std::uint32_t byte) {
  const std::uint32_t narrow_field = min(byte, 128u) + 126u;
  const std::uint32_t wide_field = max(byte, 128u) - 1u;
  return {float_of_bits(byte == 255u ? 0x7FC00000u : narrow_field << 23), float_of_bits(wide_field << 23)};
}

}  // namespace moe4::device
