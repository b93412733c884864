// Tokens as stored, BF16 or F32, and as FP32 values. Widening is exact; narrowing is the one rounding of
// profile `once`.
#pragma once

#include <cstdint>

#include "gpu/kernels/device/numeric.cuh"

namespace moe4::device {

struct Bf16 {
  std::uint16_t bits;
};

__device__ __forceinline__ float value_of(Bf16 token) { return float_of_low_bf16(token.bits); }
__device__ __forceinline__ float value_of(float token) { return token; }

__device__ __forceinline__ void store_rn(Bf16* to, float value) { to->bits = bf16_rn(value); }
__device__ __forceinline__ void store_rn(float* to, float value) { *to = value; }

// Eight consecutive tokens by 16-byte loads; `from` is 16-byte aligned.
__device__ __forceinline__ void load8(const Bf16* from, float (&x)[8]) {
  const uint4 v = *reinterpret_cast<const uint4*>(from);
  const std::uint32_t pairs[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int n = 0; n < 4; ++n) {
    x[2 * n] = float_of_low_bf16(pairs[n]);
    x[2 * n + 1] = float_of_high_bf16(pairs[n]);
  }
}

__device__ __forceinline__ void load8(const float* from, float (&x)[8]) {
  const float4 a = *reinterpret_cast<const float4*>(from);
  const float4 b = *reinterpret_cast<const float4*>(from + 4);
  x[0] = a.x, x[1] = a.y, x[2] = a.z, x[3] = a.w;
  x[4] = b.x, x[5] = b.y, x[6] = b.z, x[7] = b.w;
}

// Four consecutive tokens by one load; `from` is aligned to four tokens.
__device__ __forceinline__ float4 load4(const Bf16* from) {
  const uint2 v = *reinterpret_cast<const uint2*>(from);
  return {float_of_low_bf16(v.x), float_of_high_bf16(v.x), float_of_low_bf16(v.y), float_of_high_bf16(v.y)};
}

__device__ __forceinline__ float4 load4(const float* from) { return *reinterpret_cast<const float4*>(from); }

}  // namespace moe4::device
