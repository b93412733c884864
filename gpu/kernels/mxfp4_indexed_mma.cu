// MXFP4, op=indexed, mma.sync: 64 outputs of 8 consecutive ids a block. The main loop is in
// device/mma_rows.cuh.
//
//   v = sorted_ids[r], r < num_tokens_padded; only v < M·top_k names a row, and then
//   output[v,o]     = rn( c ),  c ← c + Σ_{i in step} w[e,o,i] · latent_tokens[v/top_k,i] from +0
//                     e = expert_ids[r/block_m]; steps of 16 columns, ascending: order seq
//   w[e,o,i]        = rn_bf16( code i%32 of packed_weights[e,o,i/32] × 2^(scale_bytes[e,o,i/32]-127) ):
//                     exact up to scale byte 252, ±Inf from 2^128 on
//
// rn is to BF16; c is a tensor core's FP32 accumulator. Other rows are not written; ids from
// num_tokens_padded on, and experts of blocks that name no row, are not read. Shapes: latent_tokens BF16
// [M,I], packed_weights [E,O,I/32,16], scale_bytes [E,O,I/32], sorted_ids [capacity], expert_ids,
// num_tokens_padded one I32, output BF16 [M·top_k,O]; rows contiguous, bases 16-byte aligned, I a multiple of
// 32, block_m of 8.
//
// Launch: blocks of 128 threads, one dimension, ceil(capacity/8) · ceil(O/64) blocks.
#include <cstdint>

#include "gpu/kernels/device/id_block.cuh"
#include "gpu/kernels/device/mma_rows.cuh"
#include "gpu/kernels/device/parts.cuh"

using namespace moe4::device;

extern "C" __global__ void __launch_bounds__(128, 4) mxfp4_indexed_mma_bf16(
    const Bf16* __restrict__ latent_tokens, const std::uint8_t* __restrict__ packed_weights,
    const std::uint8_t* __restrict__ scale_bytes, const std::int32_t* __restrict__ sorted_ids,
    const std::int32_t* __restrict__ expert_ids, const std::int32_t* __restrict__ num_tokens_padded,
    Bf16* __restrict__ output, std::int64_t M, std::int64_t I, std::int64_t O, std::int64_t top_k,
    std::int64_t block_m) {
  const unsigned output_blocks = parts_of<kMmaOutputs>(O);
  const std::int64_t first_place = std::int64_t{blockIdx.x / output_blocks} * kMmaRows;
  const std::int64_t first_output = std::int64_t{blockIdx.x % output_blocks} * kMmaOutputs;
  const auto valid_ids = static_cast<std::uint32_t>(M * top_k);
  const std::int64_t place = first_place + threadIdx.x % kLanes;
  const bool active = threadIdx.x % kLanes < kMmaRows && place < *num_tokens_padded;
  const std::uint32_t id = active ? static_cast<std::uint32_t>(sorted_ids[place]) : 0xFFFFFFFFu;
  // The same in all four warps, so the block leaves as one.
  if (!__any_sync(0xFFFFFFFFu, id < valid_ids)) return;
  const std::int64_t row = expert_ids[id_block_of(first_place, block_m)] * O;
  mma_rows<Mxfp4Pair>(latent_tokens, packed_weights + row * whole_parts_of<2>(I),
                      scale_bytes + row * whole_parts_of<kGroup>(I), output, I, O, first_output, id,
                      valid_ids, static_cast<std::uint32_t>(top_k));
}
