// The two weight formats as a main loop sees them: eight codes of a group, one 32-bit word, and their scale
// become eight FP32 factors. `fit` prepares tokens that are to be multiplied by them.
#pragma once

#include <cstdint>

#include "gpu/kernels/device/int4_decode.cuh"
#include "gpu/kernels/device/mxfp4_decode.cuh"

namespace moe4::device {

constexpr int kWordCodes = 8;

// Factors and tokens are as in extend_chain of mxfp4_group.cuh, where it is shown why every scale byte is
// exact.
struct Mxfp4Weights {
  using Scale = std::uint8_t;

  __device__ __forceinline__ Mxfp4Weights(std::uint32_t eight_codes, Scale scale_byte)
      : codes(eight_codes), has_wide(scale_byte > 128u) {
    const moe4::device::Scale scale = split_scale(scale_byte);
    wide = scale.wide;
#pragma unroll
    for (int k = 0; k < kWordCodes; ++k) w[k] = mul_rn(code_times_2_pow_minus_126(codes, k), scale.narrow);
  }

  __device__ __forceinline__ void fit(float (&x)[kWordCodes]) const {
    if (!has_wide) return;
#pragma unroll
    for (int k = 0; k < kWordCodes; ++k) {
      const bool zero_code = (codes >> (4 * k) & 7u) == 0;
      x[k] = zero_code ? x[k] : mul_rn(x[k], wide);
    }
  }

  float w[kWordCodes];
  float wide;
  std::uint32_t codes;
  bool has_wide;
};

struct Int4Weights {
  using Scale = std::uint16_t;  // BF16

  __device__ __forceinline__ Int4Weights(std::uint32_t eight_codes, Scale scale) {
    const std::uint32_t scales = scale * 0x00010001u;
#pragma unroll
    for (int k = 0; k < kWordCodes / 2; ++k) {
      const std::uint32_t pair = int4_weight_pair(eight_codes, k, scales);
      w[k] = float_of_low_bf16(pair);
      w[k + 4] = float_of_high_bf16(pair);
    }
  }

  __device__ __forceinline__ void fit(float (&)[kWordCodes]) const {}

  float w[kWordCodes];
};

}  // namespace moe4::device
