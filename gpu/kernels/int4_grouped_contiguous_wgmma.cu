// INT4, op=grouped_contiguous, wgmma: 64 or 128 rows × 128 outputs a block, BLOCK_K 64. The main loop is in
// device/wgmma_grouped.cuh.
//
//   output[r,o]     = rn( c ),  c ← c + Σ_{i in step} w[e,o,i] · latent_tokens[r,i] from +0
//                     e = m_indices[first row of the tile] >= 0; steps of 16 columns, ascending: order seq
//   w[e,o,i]        = rn_bf16( (c-8) · scales[e,i/32,o] ), c the code
//
// rn is to BF16; c is a tensor core's FP32 accumulator. Runs begin at multiples of the tile's rows. Rows with
// m_indices[r] < 0 are not written; in a tile that has an expert they are read.
// Shapes: latent_tokens BF16 [m,I], packed_weights U8 [E,O,I/2] and scales BF16 [E,I/32,O] in the layout
// grouped_contiguous (LAY-11, LAY-12), m_indices [m], output BF16 [m,O]; rows contiguous, bases 16-byte
// aligned, I a multiple of 64, O of 64. latent_tokens, packed_weights and scales are tensor maps. Launch: 384
// threads, one dimension, ceil(m/rows) · ceil(O/128) blocks, WgmmaTile::kSharedBytes.
#include <cstdint>

#include "gpu/kernels/device/grouped_tiles.cuh"
#include "gpu/kernels/device/wgmma_grouped.cuh"

using namespace moe4::device;

namespace {

template <class Tile>
__device__ __forceinline__ void contiguous(const TensorMap& latent_tokens, const TensorMap& packed_weights,
                                           const TensorMap& scales,
                                           const std::int32_t* __restrict__ m_indices,
                                           Bf16* __restrict__ output, std::int64_t m, std::int64_t I,
                                           std::int64_t O) {
  const GroupedPlace at = contiguous_place<Tile>(m_indices, O);
  if (at.expert < 0) return;
  const GroupedWork work = {latent_tokens, packed_weights, I, O, at.first_row, 0, at.expert, at.first_output};
  wgmma_grouped<Int4Grouped, Tile>(work, scales, output,
                                   [&](int r) { return contiguous_row(m_indices, m, at.first_row + r); });
}

}  // namespace

extern "C" __global__ void __launch_bounds__(moe4::Int4Contiguous<64>::kThreads, 1)
    int4_grouped_contiguous_wgmma_m64_bf16(const __grid_constant__ TensorMap latent_tokens,
                                           const __grid_constant__ TensorMap packed_weights,
                                           const __grid_constant__ TensorMap scales,
                                           const std::int32_t* __restrict__ m_indices,
                                           Bf16* __restrict__ output, std::int64_t m, std::int64_t I,
                                           std::int64_t O) {
  contiguous<moe4::Int4Contiguous<64>>(latent_tokens, packed_weights, scales, m_indices, output, m, I, O);
}

extern "C" __global__ void __launch_bounds__(moe4::Int4Contiguous<128>::kThreads, 1)
    int4_grouped_contiguous_wgmma_m128_bf16(const __grid_constant__ TensorMap latent_tokens,
                                            const __grid_constant__ TensorMap packed_weights,
                                            const __grid_constant__ TensorMap scales,
                                            const std::int32_t* __restrict__ m_indices,
                                            Bf16* __restrict__ output, std::int64_t m, std::int64_t I,
                                            std::int64_t O) {
  contiguous<moe4::Int4Contiguous<128>>(latent_tokens, packed_weights, scales, m_indices, output, m, I, O);
}
