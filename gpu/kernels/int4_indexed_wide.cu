// INT4, op=indexed, mma.sync in the layout indexed_mma: 512 outputs of 16, 32 or 48 ids
// a block, stages of 128, 64 and 64 columns, ids on the M side, for decode steps of more ids. The main loop
// is in device/mma_indexed.cuh.
//
//   v = sorted_ids[r], r < num_tokens_padded; only v < M·top_k names a row, and then
//   output[v,o]     = rn( c ),  c ← c + Σ_{i in step} w[e,o,i] · latent_tokens[v/top_k,i] from +0
//                     e = expert_ids[r/block_m]; steps of 16 columns, ascending: order seq
//   w[e,o,i]        = rn_bf16( (c-8) · s ), c and s the code and the scale in the layout indexed_mma
//
// rn is to BF16; c is a tensor core's FP32 accumulator. Other rows are not written; ids from
// num_tokens_padded on, and experts of blocks that name no row, are not read. A block of more ids is cut into
// tiles. Shapes: latent_tokens BF16 [M,I], packed_weights I32 [E,I/16,2·O] and scales BF16 [E,I/32,O] in the
// layout indexed_mma (LAY-9, LAY-10), sorted_ids [capacity], expert_ids, num_tokens_padded one I32, output
// BF16 [M·top_k,O]; rows contiguous, bases 16-byte aligned, I and O multiples of 64. Launch:
// IndexedTile::kThreads, one dimension, ceil(capacity/block_m) · ceil(block_m/rows) · ceil(O/512) blocks,
// IndexedTile::kSharedBytes.
#include <cstdint>

#include "gpu/kernels/device/mma_indexed.cuh"

using namespace moe4::device;

template <class Tile>
__device__ __forceinline__ void wide(const Bf16* __restrict__ latent_tokens,
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
  mma_indexed_wide<Tile>(work, rows, output, dynamic_memory);
}

extern "C" __global__ void __launch_bounds__(moe4::WideTile<16, 128>::kThreads, 1) int4_indexed_wide_m16_bf16(
    const Bf16* __restrict__ latent_tokens, const std::uint32_t* __restrict__ packed_weights,
    const std::uint16_t* __restrict__ scales, const std::int32_t* __restrict__ sorted_ids,
    const std::int32_t* __restrict__ expert_ids, const std::int32_t* __restrict__ num_tokens_padded,
    Bf16* __restrict__ output, std::int64_t M, std::int64_t I, std::int64_t O, std::int64_t top_k,
    std::int64_t block_m) {
  wide<moe4::WideTile<16, 128>>(latent_tokens, packed_weights, scales,
                                {sorted_ids, expert_ids, num_tokens_padded, M, top_k, block_m}, output, I, O);
}

extern "C" __global__ void __launch_bounds__(moe4::WideTile<32, 64>::kThreads, 1) int4_indexed_wide_m32_bf16(
    const Bf16* __restrict__ latent_tokens, const std::uint32_t* __restrict__ packed_weights,
    const std::uint16_t* __restrict__ scales, const std::int32_t* __restrict__ sorted_ids,
    const std::int32_t* __restrict__ expert_ids, const std::int32_t* __restrict__ num_tokens_padded,
    Bf16* __restrict__ output, std::int64_t M, std::int64_t I, std::int64_t O, std::int64_t top_k,
    std::int64_t block_m) {
  wide<moe4::WideTile<32, 64>>(latent_tokens, packed_weights, scales,
                               {sorted_ids, expert_ids, num_tokens_padded, M, top_k, block_m}, output, I, O);
}

extern "C" __global__ void __launch_bounds__(moe4::WideTile<48, 64>::kThreads, 1) int4_indexed_wide_m48_bf16(
    const Bf16* __restrict__ latent_tokens, const std::uint32_t* __restrict__ packed_weights,
    const std::uint16_t* __restrict__ scales, const std::int32_t* __restrict__ sorted_ids,
    const std::int32_t* __restrict__ expert_ids, const std::int32_t* __restrict__ num_tokens_padded,
    Bf16* __restrict__ output, std::int64_t M, std::int64_t I, std::int64_t O, std::int64_t top_k,
    std::int64_t block_m) {
  wide<moe4::WideTile<48, 64>>(latent_tokens, packed_weights, scales,
                               {sorted_ids, expert_ids, num_tokens_padded, M, top_k, block_m}, output, I, O);
}
