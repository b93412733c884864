// MXFP4, op=grouped_masked, wgmma: 16, 64 or 128 rows × 128 outputs a block, BLOCK_K 128. The main loop is in
// device/wgmma_grouped.cuh.
//
//   output[e,r,o]   = rn( c ), r < masked_m[e],
//                     c ← c + Σ_{i in step} w[e,o,i] · latent_tokens[e,r,i] from +0
//                     steps of 16 columns, ascending: order seq
//   w[e,o,i]        = code · 2^(scale_bytes[e,o,i/32]-127) as BF16: exact, or ±Inf from 2^128 on
//
// rn is to BF16; c is a tensor core's FP32 accumulator. Rows from masked_m[e] on are not written; those that
// share a tile with rows below are read. No tile reaches into the next expert's rows.
// Shapes: latent_tokens BF16 [E,max_m,I], packed_weights U8 [E,O,I/2], low nibble first, scale_bytes U8
// [E,O,I/32], masked_m [E], output BF16 [E,max_m,O]; rows contiguous, bases 16-byte aligned, I a multiple
// of 32. latent_tokens and packed_weights are tensor maps. Launch: 384 threads, one dimension, E ·
// ceil(max_m/rows) · ceil(O/128) blocks, WgmmaTile::kSharedBytes.
#include <cstdint>

#include "gpu/kernels/device/grouped_tiles.cuh"
#include "gpu/kernels/device/wgmma_grouped.cuh"

using namespace moe4::device;

namespace {

template <class Tile>
__device__ __forceinline__ void masked(const TensorMap& latent_tokens, const TensorMap& packed_weights,
                                       const std::uint8_t* __restrict__ scale_bytes,
                                       const std::int32_t* __restrict__ masked_m, Bf16* __restrict__ output,
                                       std::int64_t I, std::int64_t O, std::int64_t max_m) {
  const GroupedPlace at = masked_place<Tile>(masked_m, O, max_m);
  if (at.expert < 0) return;
  const GroupedWork work = {latent_tokens, packed_weights, I,         O,
                            at.first_row,  at.expert,      at.expert, at.first_output};
  wgmma_grouped<Mxfp4Rows, Tile>(work, scale_bytes, output, [&](int r) {
    const std::int64_t row = at.first_row + r;
    return row < masked_m[at.expert] ? at.expert * max_m + row : -1;
  });
}

}  // namespace

extern "C" __global__ void __launch_bounds__(moe4::Mxfp4Masked<16>::kThreads, 1)
    mxfp4_grouped_masked_wgmma_m16_bf16(const __grid_constant__ TensorMap latent_tokens,
                                        const __grid_constant__ TensorMap packed_weights,
                                        const std::uint8_t* __restrict__ scale_bytes,
                                        const std::int32_t* __restrict__ masked_m, Bf16* __restrict__ output,
                                        std::int64_t, std::int64_t I, std::int64_t O, std::int64_t max_m) {
  masked<moe4::Mxfp4Masked<16>>(latent_tokens, packed_weights, scale_bytes, masked_m, output, I, O, max_m);
}

extern "C" __global__ void __launch_bounds__(moe4::Mxfp4Masked<64>::kThreads, 1)
    mxfp4_grouped_masked_wgmma_m64_bf16(const __grid_constant__ TensorMap latent_tokens,
                                        const __grid_constant__ TensorMap packed_weights,
                                        const std::uint8_t* __restrict__ scale_bytes,
                                        const std::int32_t* __restrict__ masked_m, Bf16* __restrict__ output,
                                        std::int64_t, std::int64_t I, std::int64_t O, std::int64_t max_m) {
  masked<moe4::Mxfp4Masked<64>>(latent_tokens, packed_weights, scale_bytes, masked_m, output, I, O, max_m);
}

extern "C" __global__ void __launch_bounds__(moe4::Mxfp4Masked<128>::kThreads, 1)
    mxfp4_grouped_masked_wgmma_m128_bf16(const __grid_constant__ TensorMap latent_tokens,
                                         const __grid_constant__ TensorMap packed_weights,
                                         const std::uint8_t* __restrict__ scale_bytes,
                                         const std::int32_t* __restrict__ masked_m, Bf16* __restrict__ output,
                                         std::int64_t, std::int64_t I, std::int64_t O, std::int64_t max_m) {
  masked<moe4::Mxfp4Masked<128>>(latent_tokens, packed_weights, scale_bytes, masked_m, output, I, O, max_m);
}
