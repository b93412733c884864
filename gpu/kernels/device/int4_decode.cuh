// INT4 codes and BF16 scales as weights: subtract, then scale, one BF16 rounding, fused into the extraction
// of the nibbles.
#pragma once

#include <cstdint>

#include "gpu/kernels/device/numeric.cuh"

namespace moe4::device {

// rn_bf16((c-8)·s) of codes k (low half) and k+4 (high half) of eight packed ones; s twice in `scales`.
// 0x4300 is 128 in BF16, whose last bit is 1 there: c in its low bits makes 128+c. Then 128+c-136 = c-8 is
// exact, +0 for c = 8, and the product is rounded once; subnormals stay. (fma with 1 and with -0 instead of
// subtraction and multiplication: the same bits, and sm_80 has them.)
__device__ __forceinline__ std::uint32_t int4_weight_pair(std::uint32_t eight_codes, int k,
                                                          std::uint32_t scales) {
  constexpr std::uint32_t kOnes = 0x3F803F80u, kMinus136 = 0xC308C308u, kMinusZeros = 0x80008000u;
  const std::uint32_t with_128 = (eight_codes >> (4 * k) & 0x000F000Fu) | 0x43004300u;
  return fma_rn_bf16x2(fma_rn_bf16x2(with_128, kOnes, kMinus136), scales, kMinusZeros);
}

}  // namespace moe4::device
