// One thread an output: the kernel to read first.
//
//   output[t,o] = rn( shared_output[t,o] + Σ_j mixture_weights[t,j] · d_j )
//                 j = 0 … K-1, by fma_rn in that order
//   d_j         = Σ_g Σ_{i in group g} w[e,o,i] · latent_tokens[t,i],  e = selected_experts[t,j]
//                 order groups(32): each group is a chain, group sums are added in order of g
//   w[e,o,i]    = code i%32 of packed_weights[e,o,i/32] × 2^(scale_bytes[e,o,i/32]-127)
//
// rn is to the token dtype; everything before it is FP32. Shapes: latent_tokens [T,I], packed_weights
// [E,O,I/32,16], scale_bytes [E,O,I/32], selected_experts and mixture_weights [T,K], shared_output and
// output [T,O]; rows contiguous, bases 16-byte aligned, I a multiple of 32, ids in 0 … E-1.
// Launch: T·ceil(O/128) blocks of 128 threads.
#include <cstdint>

#include "gpu/kernels/device/mxfp4_group.cuh"
#include "gpu/kernels/device/one_output.cuh"

namespace moe4::device {

template <class Token>
__device__ __forceinline__ void mxfp4_linear_thread(
    const Token* __restrict__ latent_tokens, const std::uint8_t* __restrict__ packed_weights,
    const std::uint8_t* __restrict__ scale_bytes, const std::int32_t* __restrict__ selected_experts,
    const float* __restrict__ mixture_weights, const Token* __restrict__ shared_output,
    Token* __restrict__ output, std::int64_t I, std::int64_t O, std::int64_t K) {
  const auto [t, o, index] = output_place<128>(O, threadIdx.x);
  if (o >= O) return;
  const std::int64_t groups = whole_parts_of<kGroup>(I);
  const Token* tokens = latent_tokens + t * I;

  float sum = value_of(shared_output[index]);
  for (std::int64_t j = 0; j < K; ++j) {
    const std::int64_t row = selected_experts[t * K + j] * O + o;
    const uint4* codes = reinterpret_cast<const uint4*>(packed_weights + row * groups * kGroupBytes);
    const std::uint8_t* scales = scale_bytes + row * groups;
    float dot = 0.0f;
    for (std::int64_t g = 0; g < groups; ++g) {
      dot = add_group(dot, codes[g], scales[g], tokens + g * kGroup);
    }
    sum = fma_rn(mixture_weights[t * K + j], dot, sum);
  }
  store_rn(output + index, sum);
}

}  // namespace moe4::device

#define MOE4_ENTRY(suffix, Token)                                                                      \
  extern "C" __global__ void __launch_bounds__(128, 8) mxfp4_linear_thread_##suffix(                   \
      const Token* latent_tokens, const std::uint8_t* packed_weights, const std::uint8_t* scale_bytes, \
      const std::int32_t* selected_experts, const float* mixture_weights, const Token* shared_output,  \
      Token* output, std::int64_t /*T*/, std::int64_t /*E*/, std::int64_t I, std::int64_t O,           \
      std::int64_t K) {                                                                                \
    moe4::device::mxfp4_linear_thread(latent_tokens, packed_weights, scale_bytes, selected_experts,    \
                                      mixture_weights, shared_output, output, I, O, K);                \
  }
MOE4_ENTRY(bf16, moe4::device::Bf16)
MOE4_ENTRY(f32, float)
