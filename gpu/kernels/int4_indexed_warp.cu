// INT4, op=indexed. A warp makes one output of four consecutive places for rows: the main loop of
// device/warp_rows.cuh.
//
//   v = sorted_ids[r], r < num_tokens_padded; only v < M·top_k names a row, and then
//   output[v,o]     = rn( c_0 after the joins c_l ← c_l + c_{l xor s}, s = 16, 8, 4, 2, 1 )
//   c_l             = Σ_{i : (i/8) % 32 = l} w[e,o,i] · latent_tokens[v/top_k,i],  e = expert_ids[r/block_m]
//                     order lanes(32,8)+shfl: each c_l is one chain in order of i
//   w[e,o,i]        = rn_bf16( (c-8) · scales[e,o,i/32] ), c = bits 4·(i%8) … 4·(i%8)+3 of
//                     packed_weights[e,o,i/8]
//
// rn is to BF16; everything before it is FP32. Other rows are not written; ids from num_tokens_padded on, and
// experts of blocks that start there, are not read. Shapes: latent_tokens BF16 [M,I], packed_weights I32
// [E,O,I/8], scales BF16 [E,O,I/32], sorted_ids [capacity], expert_ids, num_tokens_padded one I32, output
// BF16 [M·top_k,O]; rows contiguous, bases 16-byte aligned, I a multiple of 32. Any block_m; four ids at a
// time share a decoded weight if they lie in blocks of one expert.
// Launch: blocks of 128 threads, one dimension, ceil(capacity/4) · ceil(O/4) blocks.
#include <cstdint>

#include "gpu/kernels/device/id_block.cuh"
#include "gpu/kernels/device/warp_rows.cuh"

using namespace moe4::device;

extern "C" __global__ void __launch_bounds__(128, 8) int4_indexed_warp_bf16(
    const Bf16* __restrict__ latent_tokens, const std::uint32_t* __restrict__ packed_weights,
    const std::uint16_t* __restrict__ scales, const std::int32_t* __restrict__ sorted_ids,
    const std::int32_t* __restrict__ expert_ids, const std::int32_t* __restrict__ num_tokens_padded,
    Bf16* __restrict__ output, std::int64_t M, std::int64_t I, std::int64_t O, std::int64_t top_k,
    std::int64_t block_m) {
  const auto row_at = [&](std::int64_t place) {
    Row row;
    if (place >= *num_tokens_padded) return row;
    // Valid ids are below 2^31: 32-bit division will do.
    const auto id = static_cast<std::uint32_t>(sorted_ids[place]);
    if (id >= M * top_k) return row;
    row.from = id / static_cast<std::uint32_t>(top_k);
    row.to = id;
    row.expert = expert_ids[id_block_of(place, block_m)];
    return row;
  };
  warp_rows<Int4Weights>(latent_tokens, packed_weights, scales, output, I, O, row_at);
}
