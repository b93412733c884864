// INT4, op=indexed, mma.sync in the layout indexed_mma: 256 outputs of up to 24 ids a block,
// four blocks a multiprocessor, weights on the M side. Eights of ids behind the last that names a row are
// left out. The main loop is in device/mma_indexed.cuh.
//
//   v = sorted_ids[r], r < num_tokens_padded; only v < M·top_k names a row, and then
//   output[v,o]     = rn( c ),  c ← c + Σ_{i in step} w[e,o,i] · latent_tokens[v/top_k,i] from +0
//                     e = expert_ids[r/block_m]; steps of 16 columns, ascending: order seq
//   w[e,o,i]        = rn_bf16( (c-8) · s ), c and s the code and the scale in the layout indexed_mma
//
// rn is to BF16; c is a tensor core's FP32 accumulator. Other rows are not written; ids from
// num_tokens_padded on, and experts of blocks that name no row, are not read. A block of more than 24 ids is
// cut into tiles. Shapes: latent_tokens BF16 [M,I], packed_weights I32 [E,I/16,2·O] and scales BF16
// [E,I/32,O] in the layout indexed_mma (LAY-9, LAY-10), sorted_ids [capacity], expert_ids, num_tokens_padded
// one I32, output BF16 [M·top_k,O]; rows contiguous, bases 16-byte aligned, I and O multiples of 64. Launch:
// IndexedTile::kThreads, one dimension, ceil(capacity/block_m) · ceil(block_m/24) · ceil(O/256) blocks,
// IndexedTile::kSharedBytes.
#include <cstdint>

#include "gpu/kernels/device/mma_indexed.cuh"

using namespace moe4::device;

template <class Tile>
__device__ __forceinline__ void decode(const Bf16* __restrict__ latent_tokens,
                                       const std::uint32_t* __restrict__ packed_weights,
                                       const std::uint16_t* __restrict__ scales, const IndexedIds& ids,
                                       Bf16* __restrict__ output, std::int64_t I, std::int64_t O) {
  extern __shared__ __align__(1024) std::uint8_t dynamic_memory[];
  __shared__ IndexedRows<Tile::kRows> rows;
  const std::int64_t expert = indexed_rows<Tile>(rows, ids, O, blockIdx.x);
  if (expert < 0) return;
  const IndexedWork work =
      indexed_work<Tile>(latent_tokens, packed_weights, scales, expert, I, O, blockIdx.x);
  if (threadIdx.x >= work.threads) return;
  mma_indexed_swapped<Tile>(work, rows, output, dynamic_memory);
}

extern "C" __global__ void __launch_bounds__(moe4::DecodeTile24::kThreads, 4) int4_indexed_decode_bf16(
    const Bf16* __restrict__ latent_tokens, const std::uint32_t* __restrict__ packed_weights,
    const std::uint16_t* __restrict__ scales, const std::int32_t* __restrict__ sorted_ids,
    const std::int32_t* __restrict__ expert_ids, const std::int32_t* __restrict__ num_tokens_padded,
    Bf16* __restrict__ output, std::int64_t M, std::int64_t I, std::int64_t O, std::int64_t top_k,
    std::int64_t block_m) {
  decode<moe4::DecodeTile24>(latent_tokens, packed_weights, scales,
                             {sorted_ids, expert_ids, num_tokens_padded, M, top_k, block_m}, output, I, O);
}
