// INT4, op=indexed, wgmma, for experts that are cut over GPUs, whose sides are narrow (O = 512, or I = 256):
// tiles of ROWS rows × 128 outputs, BLOCK_K DEPTH: 32 × 256, 64 × 128, 32 × 128, 128 × 64. The main loop is
// in device/wgmma_indexed.cuh.
//
//   v = sorted_ids[r], r < num_tokens_padded; only v < M·top_k names a row, and then
//   output[v,o]     = rn( Σ_tree c_j ),  c_j ← c_j + Σ_{i in step} w[e,o,i] · latent_tokens[v/top_k,i] from
//   +0
//                     e = expert_ids[r/block_m]; j = (i/64) % (DEPTH/64), steps of 16 columns, ascending;
//                     joins by halving: order warps(64,DEPTH/64)+tree, seq for 64
//   w[e,o,i]        = rn_bf16( (c-8) · s ), c and s the code and the scale in the layout indexed_wgmma
//
// rn is to BF16; c_j is a tensor core's FP32 accumulator, joins are FP32. Other rows are not written; ids
// from num_tokens_padded on, and experts of blocks that name no row, are not read. A block of more than ROWS
// ids is cut into tiles. Shapes: latent_tokens BF16 [M,I], packed_weights I32 [E,I/16,2·O] and scales BF16
// [E,I/32,O] in the layout indexed_wgmma (LAY-9, LAY-10), sorted_ids [capacity], expert_ids,
// num_tokens_padded one I32, output BF16 [M·top_k,O]; rows contiguous, bases 16-byte aligned, I and O
// multiples of 64. Launch: IndexedTile::kThreads, one dimension, ceil(capacity/block_m) · ceil(block_m/ROWS)
// · ceil(O/128) blocks, IndexedTile::kSharedBytes.
#include <cstdint>

#include "gpu/kernels/device/wgmma_indexed.cuh"

using namespace moe4::device;

extern "C" __global__ void __launch_bounds__(moe4::PrefillTile<32, 128, 256>::kThreads, 1)
    int4_indexed_wgmma_shard_m32k256_bf16(const Bf16* __restrict__ latent_tokens,
                                          const std::uint32_t* __restrict__ packed_weights,
                                          const std::uint16_t* __restrict__ scales,
                                          const std::int32_t* __restrict__ sorted_ids,
                                          const std::int32_t* __restrict__ expert_ids,
                                          const std::int32_t* __restrict__ num_tokens_padded,
                                          Bf16* __restrict__ output, std::int64_t M, std::int64_t I,
                                          std::int64_t O, std::int64_t top_k, std::int64_t block_m) {
  wgmma_indexed<moe4::PrefillTile<32, 128, 256>>(
      latent_tokens, packed_weights, scales, {sorted_ids, expert_ids, num_tokens_padded, M, top_k, block_m},
      output, I, O);
}

extern "C" __global__ void __launch_bounds__(moe4::PrefillTile<64, 128, 128>::kThreads, 1)
    int4_indexed_wgmma_shard_m64k128_bf16(const Bf16* __restrict__ latent_tokens,
                                          const std::uint32_t* __restrict__ packed_weights,
                                          const std::uint16_t* __restrict__ scales,
                                          const std::int32_t* __restrict__ sorted_ids,
                                          const std::int32_t* __restrict__ expert_ids,
                                          const std::int32_t* __restrict__ num_tokens_padded,
                                          Bf16* __restrict__ output, std::int64_t M, std::int64_t I,
                                          std::int64_t O, std::int64_t top_k, std::int64_t block_m) {
  wgmma_indexed<moe4::PrefillTile<64, 128, 128>>(
      latent_tokens, packed_weights, scales, {sorted_ids, expert_ids, num_tokens_padded, M, top_k, block_m},
      output, I, O);
}

extern "C" __global__ void __launch_bounds__(moe4::PrefillTile<32, 128, 128>::kThreads, 2)
    int4_indexed_wgmma_shard_m32k128_bf16(const Bf16* __restrict__ latent_tokens,
                                          const std::uint32_t* __restrict__ packed_weights,
                                          const std::uint16_t* __restrict__ scales,
                                          const std::int32_t* __restrict__ sorted_ids,
                                          const std::int32_t* __restrict__ expert_ids,
                                          const std::int32_t* __restrict__ num_tokens_padded,
                                          Bf16* __restrict__ output, std::int64_t M, std::int64_t I,
                                          std::int64_t O, std::int64_t top_k, std::int64_t block_m) {
  wgmma_indexed<moe4::PrefillTile<32, 128, 128>>(
      latent_tokens, packed_weights, scales, {sorted_ids, expert_ids, num_tokens_padded, M, top_k, block_m},
      output, I, O);
}

extern "C" __global__ void __launch_bounds__(moe4::PrefillTile<128, 128, 64>::kThreads, 2)
    int4_indexed_wgmma_shard_m128k64_bf16(const Bf16* __restrict__ latent_tokens,
                                          const std::uint32_t* __restrict__ packed_weights,
                                          const std::uint16_t* __restrict__ scales,
                                          const std::int32_t* __restrict__ sorted_ids,
                                          const std::int32_t* __restrict__ expert_ids,
                                          const std::int32_t* __restrict__ num_tokens_padded,
                                          Bf16* __restrict__ output, std::int64_t M, std::int64_t I,
                                          std::int64_t O, std::int64_t top_k, std::int64_t block_m) {
  wgmma_indexed<moe4::PrefillTile<128, 128, 64>>(
      latent_tokens, packed_weights, scales, {sorted_ids, expert_ids, num_tokens_padded, M, top_k, block_m},
      output, I, O);
}
