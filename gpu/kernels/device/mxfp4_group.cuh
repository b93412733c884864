// One group of 32 weights times 32 tokens, in FP32, two ways. Both round exactly where FP32 would, had it an
// exponent wide enough for the weight, so a bound for plain FP32 fma holds as it stands, for every scale
// byte.
//
// Why no product is rounded or overflows early. Let c be the code's value, s the scale byte, (narrow, wide)
// its split.
//
// s <= 128: w = c·2^-126·narrow = c·2^(s-127) is between 2^-128 and 12, a code times a power of two, and
// exact in FP32; w·x goes into fma_rn unrounded. wide = 1.
//
// s > 128: w = 2c, exact. 2c·x is a multiple of the last bit of x, so there is no subnormal rounding that
// c·x·2^(s-127) would not meet; |2c·x| <= |c·x·2^(s-127)|, so it overflows only if the product itself does. A
// zero code gives a zero product, whatever the scale.
//
// s = 255: narrow is NaN, so all 32 weights are, zero codes included.
#pragma once

#include <cstdint>

#include "gpu/kernels/device/mxfp4_decode.cuh"
#include "gpu/kernels/device/token.cuh"

namespace moe4::device {

// running + Σ_i w_i·x_i over the group: a chain of 32 fma from +0 in order of i, then one addition: order
// groups(32). The chain is in units of `wide`; the last fma scales it exactly as it adds it.
template <class Token>
__device__ __forceinline__ float add_group(float running, uint4 codes, std::uint32_t scale_byte,
                                           const Token* tokens) {
  const Scale scale = split_scale(scale_byte);
  const std::uint32_t words[4] = {codes.x, codes.y, codes.z, codes.w};
  float sum = 0.0f;
#pragma unroll
  for (int n = 0; n < 4; ++n) {
    float x[8];
    load8(tokens + 8 * n, x);
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      const float w = mul_rn(code_times_2_pow_minus_126(words[n], k), scale.narrow);
      sum = fma_rn(w, x[k], sum);
    }
  }
  return fma_rn(sum, scale.wide, running);
}

// The same 32 products, each added to the running chain itself, in order of i: what an order of longer chains
// needs. Here `wide` must go to the token, or it would scale the chain. x·wide is exact or, if it overflows,
// so does the product; but 0·Inf is NaN, hence not for zero codes.
template <class Token>
__device__ __forceinline__ float extend_chain(float chain, uint4 codes, std::uint32_t scale_byte,
                                              const Token* tokens) {
  const Scale scale = split_scale(scale_byte);
  const std::uint32_t words[4] = {codes.x, codes.y, codes.z, codes.w};
  const bool has_wide = scale_byte > 128u;
#pragma unroll
  for (int n = 0; n < 4; ++n) {
    float x[8];
    load8(tokens + 8 * n, x);
    if (has_wide) {
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        const bool zero_code = (words[n] >> (4 * k) & 7u) == 0;
        x[k] = zero_code ? x[k] : mul_rn(x[k], scale.wide);
      }
    }
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      const float w = mul_rn(code_times_2_pow_minus_126(words[n], k), scale.narrow);
      chain = fma_rn(w, x[k], chain);
    }
  }
  return chain;
}

}  // namespace moe4::device
