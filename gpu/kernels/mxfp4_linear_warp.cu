// One warp an output: lane l takes the groups g with g % 32 == l, 16 bytes of codes a load, so that the warp
// reads 512 consecutive bytes at a time. Xor shuffles join the 32 partial sums.
//
//   output[t,o] = rn( shared_output[t,o] + Σ_j mixture_weights[t,j] · d_j )
//                 j = 0 … K-1, by fma_rn in that order
//   d_j         = c_0 after the joins c_l ← c_l + c_{l xor s}, s = 16, 8, 4, 2, 1
//   c_l         = Σ_{i : (i/32) % 32 = l} w[e,o,i] · latent_tokens[t,i],  e = selected_experts[t,j]
//                 order lanes(32,32)+shfl: each c_l is one chain in order of i
//   w[e,o,i]    = code i%32 of packed_weights[e,o,i/32] × 2^(scale_bytes[e,o,i/32]-127)
//
// rn is to the token dtype; everything before it is FP32. Shapes: latent_tokens [T,I], packed_weights
// [E,O,I/32,16], scale_bytes [E,O,I/32], selected_experts and mixture_weights [T,K], shared_output and
// output [T,O]; rows contiguous, bases 16-byte aligned, I a multiple of 32, ids in 0 … E-1.
// Launch: T·ceil(O/4) blocks of four warps.
#include <cstdint>

#include "gpu/kernels/device/mxfp4_group.cuh"
#include "gpu/kernels/device/one_output.cuh"
#include "gpu/kernels/device/warp.cuh"

namespace moe4::device {

template <class Token>
__device__ __forceinline__ void mxfp4_linear_warp(
    const Token* __restrict__ latent_tokens, const std::uint8_t* __restrict__ packed_weights,
    const std::uint8_t* __restrict__ scale_bytes, const std::int32_t* __restrict__ selected_experts,
    const float* __restrict__ mixture_weights, const Token* __restrict__ shared_output,
    Token* __restrict__ output, std::int64_t I, std::int64_t O, std::int64_t K) {
  const int lane = threadIdx.x % kLanes;
  const auto [t, o, index] = output_place<4>(O, threadIdx.x / kLanes);
  if (o >= O) return;  // whole warps only: the shuffles below are by all lanes
  const std::int64_t groups = whole_parts_of<kGroup>(I);
  const Token* tokens = latent_tokens + t * I;

  float sum = value_of(shared_output[index]);
  for (std::int64_t j = 0; j < K; ++j) {
    const std::int64_t row = selected_experts[t * K + j] * O + o;
    const uint4* codes = reinterpret_cast<const uint4*>(packed_weights + row * groups * kGroupBytes);
    const std::uint8_t* scales = scale_bytes + row * groups;
    float chain = 0.0f;
    for (std::int64_t g = lane; g < groups; g += kLanes) {
      chain = extend_chain(chain, codes[g], scales[g], tokens + g * kGroup);
    }
    sum = fma_rn(mixture_weights[t * K + j], sum_over_lanes(chain), sum);
  }
  if (lane == 0) store_rn(output + index, sum);
}

}  // namespace moe4::device

#define MOE4_ENTRY(suffix, Token)                                                                      \
  extern "C" __global__ void __launch_bounds__(128) mxfp4_linear_warp_##suffix(                        \
      const Token* latent_tokens, const std::uint8_t* packed_weights, const std::uint8_t* scale_bytes, \
      const std::int32_t* selected_experts, const float* mixture_weights, const Token* shared_output,  \
      Token* output, std::int64_t /*T*/, std::int64_t /*E*/, std::int64_t I, std::int64_t O,           \
      std::int64_t K) {                                                                                \
    moe4::device::mxfp4_linear_warp(latent_tokens, packed_weights, scale_bytes, selected_experts,      \
                                    mixture_weights, shared_output, output, I, O, K);                  \
  }
MOE4_ENTRY(bf16, moe4::device::Bf16)
MOE4_ENTRY(f32, float)
