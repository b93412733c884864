// The rows of a token's slots, weighted and added to shared_output in FP32, one rounding. One thread an
// output.
//
//   output[t,o] = rn( shared_output[t,o] + Σ_j mixture_weights[t,j] · rows[t·K+j,o] )
//                 j = 0 … K-1 with selected_experts[t,j] != -1, by fma_rn in that order
//
// rn is to the output's dtype; everything before it is FP32. Shapes: rows BF16 [T·K,O], mixture_weights and
// selected_experts [T,K], shared_output and output [T,O] of one dtype. selected_experts may be null: every
// slot is there. Of an absent slot neither weight nor row is read.
// Launch: T·ceil(O/128) blocks of 128 threads.
#include <cstdint>

#include "gpu/kernels/device/one_output.cuh"
#include "gpu/kernels/device/token.cuh"

namespace moe4::device {

template <class Token>
__device__ __forceinline__ void combine_once(const Bf16* __restrict__ rows,
                                             const float* __restrict__ mixture_weights,
                                             const std::int32_t* __restrict__ selected_experts,
                                             const Token* __restrict__ shared_output,
                                             Token* __restrict__ output, std::int64_t O, std::int64_t K) {
  const auto [t, o, index] = output_place<128>(O, threadIdx.x);
  if (o >= O) return;
  float sum = value_of(shared_output[index]);
  for (std::int64_t slot = t * K; slot < (t + 1) * K; ++slot) {
    if (selected_experts != nullptr && selected_experts[slot] == -1) continue;
    sum = fma_rn(mixture_weights[slot], value_of(rows[slot * O + o]), sum);
  }
  store_rn(output + index, sum);
}

}  // namespace moe4::device

#define MOE4_ENTRY(suffix, Token)                                                                         \
  extern "C" __global__ void __launch_bounds__(128, 8) combine_once_##suffix(                             \
      const moe4::device::Bf16* rows, const float* mixture_weights, const std::int32_t* selected_experts, \
      const Token* shared_output, Token* output, std::int64_t /*T*/, std::int64_t O, std::int64_t K) {    \
    moe4::device::combine_once(rows, mixture_weights, selected_experts, shared_output, output, O, K);     \
  }
MOE4_ENTRY(bf16, moe4::device::Bf16)
MOE4_ENTRY(f32, float)
