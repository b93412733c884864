// Conversions and arithmetic of the kernels: every rounding is named, none is left to the compiler.
//
// mul_rn, add_rn and fma_rn are single FP32 operations, round to nearest even, subnormals kept. They are
// never contracted: the intrinsics print mul.rn, add.rn and fma.rn, which ptxas must take as they stand.
#pragma once

#include <cstdint>

namespace moe4::device {

__device__ __forceinline__ float mul_rn(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ float add_rn(float a, float b) { return __fadd_rn(a, b); }
__device__ __forceinline__ float fma_rn(float a, float b, float c) { return __fmaf_rn(a, b, c); }

__device__ __forceinline__ float float_of_bits(std::uint32_t bits) { return __uint_as_float(bits); }

// BF16 is the upper half of FP32, so widening moves bits and is exact, NaN and subnormals included.
__device__ __forceinline__ float float_of_low_bf16(std::uint32_t pair) { return float_of_bits(pair << 16); }
__device__ __forceinline__ float float_of_high_bf16(std::uint32_t pair) {
  return float_of_bits(pair & 0xFFFF0000u);
}

// Nearest even; beyond the largest BF16 plus half an ulp gives Inf; a NaN stays a NaN.
// The instruction itself: cuda_bf16.h would cost every kernel seconds of compile time for this one line.
__device__ __forceinline__ std::uint16_t bf16_rn(float value) {
  std::uint16_t bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

// Two at once: `low` in the low half.
__device__ __forceinline__ std::uint32_t bf16x2_rn(float low, float high) {
  std::uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

// Two BF16 fused multiply-adds, each rounded once, subnormals kept.
__device__ __forceinline__ std::uint32_t fma_rn_bf16x2(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  std::uint32_t d;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}

}  // namespace moe4::device
