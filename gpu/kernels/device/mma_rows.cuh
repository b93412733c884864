// The main loop of the mma.sync kernels for rows, operands swapped: 64 outputs are the M side, 8 rows the N
// side, so that few rows fill an instruction. A block of four warps, 16 outputs each, brings weights and
// tokens to shared memory in slabs of 64 columns, kStages of them in flight.
//
//   output[to(r),o] = rn_bf16( c ),  c ← c + Σ_{i in step} w[e,o,i] · latent_tokens[from(r),i] from +0
//                     steps of 16 columns, ascending: order seq on a tensor core of 16 products a step
#pragma once

#include <cstdint>

#include "gpu/kernels/device/mxfp4_decode.cuh"
#include "gpu/kernels/device/pair_weights.cuh"
#include "gpu/kernels/device/parts.cuh"
#include "gpu/kernels/device/ptx.cuh"
#include "gpu/kernels/device/token.cuh"
#include "gpu/kernels/device/warp.cuh"

namespace moe4::device {

constexpr int kMmaRows = 8;
constexpr int kMmaOutputs = 64;
constexpr int kMmaThreads = 128;
constexpr int kSlabGroups = 2;
constexpr int kStages = 4;
// Bytes of a row in shared memory: 16 more than the slab's, so that the rows that a warp reads together lie
// in different banks.
constexpr int kCodesPitch = kSlabGroups * kGroupBytes + 16;
constexpr int kTokensPitch = kSlabGroups * kGroup * 2 + 16;

struct MmaStage {
  alignas(16) std::uint8_t codes[kMmaOutputs][kCodesPitch];
  alignas(16) std::uint8_t tokens[kMmaRows][kTokensPitch];
};

// id: this lane's row of the block, lanes 0..7, and any value >= valid_ids elsewhere or where there is no
// row. packed_weights and scales begin at the expert's first row. All threads of the block call it together.
template <class Pair>
__device__ __forceinline__ void mma_rows(const Bf16* __restrict__ latent_tokens,
                                         const std::uint8_t* __restrict__ packed_weights,
                                         const typename Pair::Scale* __restrict__ scales,
                                         Bf16* __restrict__ output, std::int64_t I, std::int64_t O,
                                         std::int64_t first_output, std::uint32_t id, std::uint32_t valid_ids,
                                         std::uint32_t top_k) {
  __shared__ MmaStage stages[kStages];
  const unsigned thread = threadIdx.x, lane = thread % kLanes;
  const std::int64_t groups = whole_parts_of<kGroup>(I);
  const std::int64_t slabs = parts_of<kSlabGroups>(groups);

  // Each thread brings one group's codes of one output, and half of the threads 8 tokens of a row.
  const unsigned code_row = thread / kSlabGroups, code_group = thread % kSlabGroups;
  const std::uint8_t* codes_from =
      packed_weights + min(first_output + code_row, O - 1) * groups * kGroupBytes + code_group * kGroupBytes;
  constexpr int kChunks = kSlabGroups * kGroup / 8;
  const unsigned token_row = thread / kChunks % kMmaRows, token_chunk = thread % kChunks;
  const std::uint32_t token_id = __shfl_sync(0xFFFFFFFFu, id, token_row);
  const bool has_token = token_id < valid_ids;
  const Bf16* tokens_from =
      latent_tokens + (has_token ? token_id / top_k * I : std::int64_t{0}) + token_chunk * 8;
  const auto load = [&](std::int64_t slab) {
    if (slab < slabs) {
      MmaStage& stage = stages[slab % kStages];
      const std::int64_t group = slab * kSlabGroups;
      const bool codes_there = group + code_group < groups;
      copy_async_16(&stage.codes[code_row][code_group * kGroupBytes],
                    codes_from + (codes_there ? group * kGroupBytes : 0), codes_there);
      if (thread < kMmaRows * kChunks) {
        const bool token_there = has_token && group + token_chunk / 4 < groups;
        copy_async_16(&stage.tokens[token_row][token_chunk * 16],
                      tokens_from + (token_there ? group * kGroup : 0), token_there);
      }
    }
    copy_async_commit();
  };

  const unsigned g = lane / 4, t = lane % 4;
  const unsigned warp_row = thread / kLanes * 16;
  const std::int64_t o[2] = {first_output + warp_row + g, first_output + warp_row + g + 8};
  const typename Pair::Scale* scales_of[2] = {scales + min(o[0], O - 1) * groups,
                                              scales + min(o[1], O - 1) * groups};
  float sum[4] = {};
#pragma unroll
  for (int slab = 0; slab < kStages - 1; ++slab) load(slab);
  for (std::int64_t slab = 0; slab < slabs; ++slab) {
    copy_async_wait<kStages - 2>();
    __syncthreads();  // everybody's copies are there, and the slab before has been read by all
    load(slab + kStages - 1);
    const MmaStage& stage = stages[slab % kStages];
#pragma unroll
    for (int n = 0; n < kSlabGroups; ++n) {
      const std::int64_t group = slab * kSlabGroups + n;
      if (group >= groups) break;
      const std::uint32_t scale[2] = {Pair::prepare(scales_of[0][group]), Pair::prepare(scales_of[1][group])};
#pragma unroll
      for (int step = 0; step < 2; ++step) {
        // Columns 2t, 2t+1 of the step are byte t of its first word, the ones 8 further of its second.
        const int at = n * kGroupBytes + step * 8 + t;
        const std::uint8_t* low = stage.codes[warp_row + g];
        const std::uint8_t* high = stage.codes[warp_row + g + 8];
        const std::uint32_t a[4] = {Pair::decode(low[at], scale[0]), Pair::decode(high[at], scale[1]),
                                    Pair::decode(low[at + 4], scale[0]),
                                    Pair::decode(high[at + 4], scale[1])};
        const std::uint8_t* tokens = &stage.tokens[g][(n * kGroup + step * 16 + 2 * t) * 2];
        const std::uint32_t b[2] = {*reinterpret_cast<const std::uint32_t*>(tokens),
                                    *reinterpret_cast<const std::uint32_t*>(tokens + 16)};
        mma_m16n8k16(sum, a, b);
      }
    }
  }
  copy_async_wait<0>();

  const std::uint32_t to[2] = {__shfl_sync(0xFFFFFFFFu, id, 2 * t), __shfl_sync(0xFFFFFFFFu, id, 2 * t + 1)};
#pragma unroll
  for (int n = 0; n < 4; ++n) {
    const std::uint32_t row = to[n % 2];
    if (row < valid_ids && o[n / 2] < O) store_rn(output + row * O + o[n / 2], sum[n]);
  }
}

}  // namespace moe4::device
