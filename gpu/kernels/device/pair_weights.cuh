// The two weight formats as BF16 operands of a tensor core: a byte, which holds codes of columns k (low
// nibble) and k+1, and the scale of their group become a pair of BF16 weights.
#pragma once

#include <cstdint>

#include "gpu/kernels/device/numeric.cuh"

namespace moe4::device {

// The nibbles of a byte, one in each half of a word.
__device__ __forceinline__ std::uint32_t spread_nibbles(std::uint32_t byte) {
  return (byte & 0x0Fu) | (byte & 0xF0u) << 12;
}

struct Int4Pair {
  using Scale = std::uint16_t;  // BF16

  // The scale in both halves.
  static __device__ __forceinline__ std::uint32_t prepare(Scale scale) { return scale * 0x00010001u; }

  // rn_bf16((c-8)·s), as int4_weight_pair of int4_decode.cuh: 128+c-136, then one rounded product.
  static __device__ __forceinline__ std::uint32_t decode(std::uint32_t byte, std::uint32_t scales) {
    constexpr std::uint32_t kOnes = 0x3F803F80u, kMinus136 = 0xC308C308u, kMinusZeros = 0x80008000u;
    const std::uint32_t with_128 = spread_nibbles(byte) | 0x43004300u;
    return fma_rn_bf16x2(fma_rn_bf16x2(with_128, kOnes, kMinus136), scales, kMinusZeros);
  }
};

struct Mxfp4Pair {
  using Scale = std::uint8_t;

  // 2^(s-127) as BF16 in both halves: a subnormal for s = 0, NaN for 255.
  static __device__ __forceinline__ std::uint32_t prepare(Scale scale) {
    const std::uint32_t bits = scale == 0 ? 0x0040u : scale == 255 ? 0x7FC0u : std::uint32_t{scale} << 7;
    return bits * 0x00010001u;
  }

  // eem at the lowest exponent bits and the highest mantissa bit is code·2^-126, subnormals included, as in
  // mxfp4_decode.cuh; times 2^126 the code. The product with the scale is exact, or ±Inf from 2^128 on.
  static __device__ __forceinline__ std::uint32_t decode(std::uint32_t byte, std::uint32_t scales) {
    constexpr std::uint32_t kTo126 = 0x7E807E80u, kMinusZeros = 0x80008000u;
    const std::uint32_t codes = spread_nibbles(byte);
    const std::uint32_t small = (codes & 0x00080008u) << 12 | (codes & 0x00070007u) << 6;
    return fma_rn_bf16x2(fma_rn_bf16x2(small, kTo126, kMinusZeros), scales, kMinusZeros);
  }
};

}  // namespace moe4::device
