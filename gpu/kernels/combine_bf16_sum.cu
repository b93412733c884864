// The rows of a token's slots, weighted, rounded and added in BF16, as stacks do that sum in the tensor's own
// type. One thread an output.
//
//   v_j         = rn( mixture_weights[t,j] · rows[t·K+j,o] )
//   r           ← rn( r + v_j ) from +0, j = 0 … K-1 with selected_experts[t,j] != -1, in that order
//   output[t,o] = rn( r + shared_output[t,o] )
//
// rn is to BF16, of an FP32 product or sum that is itself rounded: profile late_bf16_sum. Shapes: rows BF16
// [T·K,O], mixture_weights F32 and selected_experts [T,K], shared_output and output BF16 [T,O].
// selected_experts may be null: every slot is there. Of an absent slot neither weight nor row is read.
// Launch: T·ceil(O/128) blocks of 128 threads.
#include <cstdint>

#include "gpu/kernels/device/one_output.cuh"
#include "gpu/kernels/device/token.cuh"

using namespace moe4::device;

extern "C" __global__ void __launch_bounds__(128)
    combine_bf16_sum_bf16(const Bf16* __restrict__ rows, const float* __restrict__ mixture_weights,
                          const std::int32_t* __restrict__ selected_experts,
                          const Bf16* __restrict__ shared_output, Bf16* __restrict__ output,
                          std::int64_t /*T*/, std::int64_t O, std::int64_t K) {
  const auto [t, o, index] = output_place<128>(O, threadIdx.x);
  if (o >= O) return;
  Bf16 sum{0};
  bool added = false;
  for (std::int64_t slot = t * K; slot < (t + 1) * K; ++slot) {
    if (selected_experts != nullptr && selected_experts[slot] == -1) continue;
    const Bf16 weighted{bf16_rn(mul_rn(mixture_weights[slot], value_of(rows[slot * O + o])))};
    sum = Bf16{bf16_rn(add_rn(value_of(sum), value_of(weighted)))};
    added = true;
  }
  // Without a slot the output is shared_output, a zero with its sign.
  const Bf16 shared = shared_output[index];
  output[index] = added ? Bf16{bf16_rn(add_rn(value_of(sum), value_of(shared)))} : shared;
}
