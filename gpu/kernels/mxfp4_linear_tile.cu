// A block takes 4 tokens × 32 outputs. The tokens pass through shared memory in slabs of 128 values, widened
// to FP32 once for all 32 outputs, in two buffers: while one slab is multiplied, the next one is loaded, also
// across slots.
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
// Launch: blocks of 4 × 32 threads, one dimension, ceil(T/4) · ceil(O/32) blocks.
#include <cstdint>

#include "gpu/kernels/device/mxfp4_group.cuh"
#include "gpu/kernels/device/parts.cuh"

namespace moe4::device {

constexpr int kTileTokens = 4;
constexpr int kTileOutputs = 32;
constexpr int kSlabGroups = 4;
constexpr int kSlab = kSlabGroups * kGroup;
constexpr int kRow = kSlab + 4;  // the four tokens that a warp reads at a time lie in different banks
constexpr int kVector = 4;       // values that a thread brings to a slab, as load4 moves them
constexpr int kLoadersARow = kSlab / kVector;
static_assert(kTileTokens * kSlab == kTileTokens * kTileOutputs * kVector, "every thread loads once");

template <class Token>
__device__ __forceinline__ void mxfp4_linear_tile(
    const Token* __restrict__ latent_tokens, const std::uint8_t* __restrict__ packed_weights,
    const std::uint8_t* __restrict__ scale_bytes, const std::int32_t* __restrict__ selected_experts,
    const float* __restrict__ mixture_weights, const Token* __restrict__ shared_output,
    Token* __restrict__ output, std::int64_t T, std::int64_t I, std::int64_t O, std::int64_t K) {
  __shared__ alignas(16) float tile[2][kTileTokens][kRow];

  const unsigned output_tiles = parts_of<kTileOutputs>(O);
  const std::int64_t first_token = std::int64_t{blockIdx.x / output_tiles} * kTileTokens;
  const std::int64_t t = first_token + threadIdx.x;
  const std::int64_t o = std::int64_t{blockIdx.x % output_tiles} * kTileOutputs + threadIdx.y;
  const bool has_output = t < T && o < O;
  const std::int64_t groups = whole_parts_of<kGroup>(I);
  const std::int64_t slabs = parts_of<kSlabGroups>(groups);

  // A warp brings one token of the slab, whichever outputs its threads have. The tail of the last slab is
  // neither loaded nor read.
  const unsigned thread = threadIdx.y * kTileTokens + threadIdx.x;
  const unsigned load_row = thread / kLoadersARow;
  const unsigned load_column = thread % kLoadersARow * kVector;
  const auto load_slab = [&](std::int64_t slab, int buffer) {
    const std::int64_t i = slab * kSlab + load_column;
    if (first_token + load_row >= T || i >= I) return;
    *reinterpret_cast<float4*>(&tile[buffer][load_row][load_column]) =
        load4(latent_tokens + (first_token + load_row) * I + i);
  };

  float sum = has_output ? value_of(shared_output[t * O + o]) : 0.0f;
  int buffer = 0;
  if (K > 0) load_slab(0, buffer);
  __syncthreads();
  for (std::int64_t j = 0; j < K; ++j) {
    const std::int64_t row = has_output ? selected_experts[t * K + j] * O + o : 0;
    const uint4* codes = reinterpret_cast<const uint4*>(packed_weights + row * groups * kGroupBytes);
    const std::uint8_t* scales = scale_bytes + row * groups;
    float dot = 0.0f;
    for (std::int64_t slab = 0; slab < slabs; ++slab) {
      const bool last_of_slot = slab + 1 == slabs;
      if (!last_of_slot || j + 1 < K) load_slab(last_of_slot ? 0 : slab + 1, buffer ^ 1);
      if (has_output) {
        const float* slab_tokens = tile[buffer][threadIdx.x];
        const std::int64_t first = slab * kSlabGroups;
        const int count = static_cast<int>(min(groups - first, static_cast<std::int64_t>(kSlabGroups)));
#pragma unroll 1
        for (int n = 0; n < count; ++n) {
          dot = add_group(dot, codes[first + n], scales[first + n], slab_tokens + n * kGroup);
        }
      }
      // Both ways: the next slab is complete, and this one may be overwritten.
      __syncthreads();
      buffer ^= 1;
    }
    if (has_output) sum = fma_rn(mixture_weights[t * K + j], dot, sum);
  }
  if (has_output) store_rn(output + t * O + o, sum);
}

}  // namespace moe4::device

#define MOE4_ENTRY(suffix, Token)                                                                          \
  extern "C" __global__ void __launch_bounds__(128) mxfp4_linear_tile_##suffix(                            \
      const Token* latent_tokens, const std::uint8_t* packed_weights, const std::uint8_t* scale_bytes,     \
      const std::int32_t* selected_experts, const float* mixture_weights, const Token* shared_output,      \
      Token* output, std::int64_t T, std::int64_t /*E*/, std::int64_t I, std::int64_t O, std::int64_t K) { \
    moe4::device::mxfp4_linear_tile(latent_tokens, packed_weights, scale_bytes, selected_experts,          \
                                    mixture_weights, shared_output, output, T, I, O, K);                   \
  }
MOE4_ENTRY(bf16, moe4::device::Bf16)
MOE4_ENTRY(f32, float)
