// INT4, op=indexed, wgmma, stream-K: tiles of 64 rows × 256 outputs, BLOCK_K 64, whose columns are shared by
// 2 or 3 blocks. The main loop is in device/wgmma_stream_k.cuh.
//
//   v = sorted_ids[r], r < num_tokens_padded; only v < M·top_k names a row, and then
//   output[v,o]     = v_0,  v_s = rn( d_s + v_{s+1} ) from the last slice that has columns, v_s = d_s there
//   d_s             = rn( c ),  c ← c + Σ_{i in step} w[e,o,i] · latent_tokens[v/top_k,i] from +0
//                     over the groups ⌊s·G/n⌋ … ⌊(s+1)·G/n⌋-1, G = I/32, n = 2 or 3; e =
//                     expert_ids[r/block_m]; steps of 16 columns, ascending: order streamk(n)
//   w[e,o,i]        = rn_bf16( (c-8) · s ), c and s the code and the scale in the layout indexed_wgmma
//
// rn is to BF16; c is a tensor core's FP32 accumulator. Other rows are not written; ids from
// num_tokens_padded on, and experts of blocks that name no row, are not read. A block of more than 64 ids is
// cut into tiles. Shapes: latent_tokens BF16 [M,I], packed_weights I32 [E,I/16,2·O] and scales BF16
// [E,I/32,O] in the layout indexed_wgmma (LAY-9, LAY-10), sorted_ids [capacity], expert_ids,
// num_tokens_padded one I32, output BF16 [M·top_k,O], workspace I32, one count a tile, zeros before and
// after; rows contiguous, bases 16-byte aligned, I and O multiples of 64. Launch: IndexedTile::kThreads, one
// dimension, n · ceil(capacity/block_m) · ceil(block_m/64) · ceil(O/256) blocks, IndexedTile::kSharedBytes.
#include <cstdint>

#include "gpu/kernels/device/wgmma_stream_k.cuh"

using namespace moe4::device;

extern "C" __global__ void __launch_bounds__(moe4::PrefillTile64::kThreads, 2)
    int4_indexed_wgmma_stream_m64s2_bf16(const Bf16* __restrict__ latent_tokens,
                                         const std::uint32_t* __restrict__ packed_weights,
                                         const std::uint16_t* __restrict__ scales,
                                         const std::int32_t* __restrict__ sorted_ids,
                                         const std::int32_t* __restrict__ expert_ids,
                                         const std::int32_t* __restrict__ num_tokens_padded, Bf16* output,
                                         std::int64_t M, std::int64_t I, std::int64_t O, std::int64_t top_k,
                                         std::int64_t block_m, std::int32_t* workspace) {
  wgmma_stream_k<moe4::PrefillTile64, 2>(latent_tokens, packed_weights, scales,
                                         {sorted_ids, expert_ids, num_tokens_padded, M, top_k, block_m},
                                         output, I, O, workspace);
}

extern "C" __global__ void __launch_bounds__(moe4::PrefillTile64::kThreads, 2)
    int4_indexed_wgmma_stream_m64s3_bf16(const Bf16* __restrict__ latent_tokens,
                                         const std::uint32_t* __restrict__ packed_weights,
                                         const std::uint16_t* __restrict__ scales,
                                         const std::int32_t* __restrict__ sorted_ids,
                                         const std::int32_t* __restrict__ expert_ids,
                                         const std::int32_t* __restrict__ num_tokens_padded, Bf16* output,
                                         std::int64_t M, std::int64_t I, std::int64_t O, std::int64_t top_k,
                                         std::int64_t block_m, std::int32_t* workspace) {
  wgmma_stream_k<moe4::PrefillTile64, 3>(latent_tokens, packed_weights, scales,
                                         {sorted_ids, expert_ids, num_tokens_padded, M, top_k, block_m},
                                         output, I, O, workspace);
}
