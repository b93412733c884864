// INT4, op=indexed, wgmma, for prefill: tiles of ROWS rows × OUTPUTS outputs, BLOCK_K DEPTH: 16 × 128 × 256,
// 32 × 256 × 128, and 64, 96, 128 or 176 × 256 × 64. The main loop is in device/wgmma_indexed.cuh.
//
//   v = sorted_ids[r], r < num_tokens_padded; only v < M·top_k names a row, and then
//   output[v,o]     = rn( Σ_tree c_j ),  c_j ← c_j + Σ_{i in step} w[e,o,i] · latent_tokens[v/top_k,i] from
//   +0
//                     e = expert_ids[r/block_m]; j = (i/64) % (DEPTH/64), steps of 16 columns, ascending;
//                     joins by halving: order warps(64,4)+tree for 16 rows, warps(64,2)+tree for 32, else
//                     seq
//   w[e,o,i]        = rn_bf16( (c-8) · s ), c and s the code and the scale in the layout indexed_wgmma
//
// rn is to BF16; c_j is a tensor core's FP32 accumulator, joins are FP32. Other rows are not written; ids
// from num_tokens_padded on, and experts of blocks that name no row, are not read. A block of more than ROWS
// ids is cut into tiles. Shapes: latent_tokens BF16 [M,I], packed_weights I32 [E,I/16,2·O] and scales BF16
// [E,I/32,O] in the layout indexed_wgmma (LAY-9, LAY-10), sorted_ids [capacity], expert_ids,
// num_tokens_padded one I32, output BF16 [M·top_k,O]; rows contiguous, bases 16-byte aligned, I and O
// multiples of 64. Launch: IndexedTile::kThreads, one dimension, ceil(capacity/block_m) · ceil(block_m/ROWS)
// · ceil(O/OUTPUTS) blocks, IndexedTile::kSharedBytes.
#include <cstdint>

#include "gpu/kernels/device/wgmma_indexed.cuh"

using namespace moe4::device;

extern "C" __global__ void __launch_bounds__(moe4::PrefillTile16::kThreads, 1) int4_indexed_wgmma_m16_bf16(
    const Bf16* __restrict__ latent_tokens, const std::uint32_t* __restrict__ packed_weights,
    const std::uint16_t* __restrict__ scales, const std::int32_t* __restrict__ sorted_ids,
    const std::int32_t* __restrict__ expert_ids, const std::int32_t* __restrict__ num_tokens_padded,
    Bf16* __restrict__ output, std::int64_t M, std::int64_t I, std::int64_t O, std::int64_t top_k,
    std::int64_t block_m) {
  wgmma_indexed<moe4::PrefillTile16>(latent_tokens, packed_weights, scales,
                                     {sorted_ids, expert_ids, num_tokens_padded, M, top_k, block_m}, output,
                                     I, O);
}

extern "C" __global__ void __launch_bounds__(moe4::PrefillTile32::kThreads, 1) int4_indexed_wgmma_m32_bf16(
    const Bf16* __restrict__ latent_tokens, const std::uint32_t* __restrict__ packed_weights,
    const std::uint16_t* __restrict__ scales, const std::int32_t* __restrict__ sorted_ids,
    const std::int32_t* __restrict__ expert_ids, const std::int32_t* __restrict__ num_tokens_padded,
    Bf16* __restrict__ output, std::int64_t M, std::int64_t I, std::int64_t O, std::int64_t top_k,
    std::int64_t block_m) {
  wgmma_indexed<moe4::PrefillTile32>(latent_tokens, packed_weights, scales,
                                     {sorted_ids, expert_ids, num_tokens_padded, M, top_k, block_m}, output,
                                     I, O);
}

extern "C" __global__ void __launch_bounds__(moe4::PrefillTile64::kThreads, 2) int4_indexed_wgmma_m64_bf16(
    const Bf16* __restrict__ latent_tokens, const std::uint32_t* __restrict__ packed_weights,
    const std::uint16_t* __restrict__ scales, const std::int32_t* __restrict__ sorted_ids,
    const std::int32_t* __restrict__ expert_ids, const std::int32_t* __restrict__ num_tokens_padded,
    Bf16* __restrict__ output, std::int64_t M, std::int64_t I, std::int64_t O, std::int64_t top_k,
    std::int64_t block_m) {
  wgmma_indexed<moe4::PrefillTile64>(latent_tokens, packed_weights, scales,
                                     {sorted_ids, expert_ids, num_tokens_padded, M, top_k, block_m}, output,
                                     I, O);
}

extern "C" __global__ void __launch_bounds__(moe4::PrefillTile96::kThreads, 1) int4_indexed_wgmma_m96_bf16(
    const Bf16* __restrict__ latent_tokens, const std::uint32_t* __restrict__ packed_weights,
    const std::uint16_t* __restrict__ scales, const std::int32_t* __restrict__ sorted_ids,
    const std::int32_t* __restrict__ expert_ids, const std::int32_t* __restrict__ num_tokens_padded,
    Bf16* __restrict__ output, std::int64_t M, std::int64_t I, std::int64_t O, std::int64_t top_k,
    std::int64_t block_m) {
  wgmma_indexed<moe4::PrefillTile96>(latent_tokens, packed_weights, scales,
                                     {sorted_ids, expert_ids, num_tokens_padded, M, top_k, block_m}, output,
                                     I, O);
}

extern "C" __global__ void __launch_bounds__(moe4::PrefillTile128::kThreads, 1) int4_indexed_wgmma_m128_bf16(
    const Bf16* __restrict__ latent_tokens, const std::uint32_t* __restrict__ packed_weights,
    const std::uint16_t* __restrict__ scales, const std::int32_t* __restrict__ sorted_ids,
    const std::int32_t* __restrict__ expert_ids, const std::int32_t* __restrict__ num_tokens_padded,
    Bf16* __restrict__ output, std::int64_t M, std::int64_t I, std::int64_t O, std::int64_t top_k,
    std::int64_t block_m) {
  wgmma_indexed<moe4::PrefillTile128>(latent_tokens, packed_weights, scales,
                                      {sorted_ids, expert_ids, num_tokens_padded, M, top_k, block_m}, output,
                                      I, O);
}

extern "C" __global__ void __launch_bounds__(moe4::PrefillTile176::kThreads, 1) int4_indexed_wgmma_m176_bf16(
    const Bf16* __restrict__ latent_tokens, const std::uint32_t* __restrict__ packed_weights,
    const std::uint16_t* __restrict__ scales, const std::int32_t* __restrict__ sorted_ids,
    const std::int32_t* __restrict__ expert_ids, const std::int32_t* __restrict__ num_tokens_padded,
    Bf16* __restrict__ output, std::int64_t M, std::int64_t I, std::int64_t O, std::int64_t top_k,
    std::int64_t block_m) {
  wgmma_indexed<moe4::PrefillTile176>(latent_tokens, packed_weights, scales,
                                      {sorted_ids, expert_ids, num_tokens_padded, M, top_k, block_m}, output,
                                      I, O);
}
