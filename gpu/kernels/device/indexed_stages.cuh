// Stages of the INT4 kernels for indexed rows: all threads of a block bring tokens, codes and scales of
// kDepth columns by cp.async, in the layouts indexed_mma and indexed_wgmma.
#pragma once

#include <cstdint>

#include "gpu/kernels/device/ptx.cuh"
#include "gpu/kernels/device/tensor_copy.cuh"
#include "gpu/kernels/device/token.cuh"
#include "gpu/kernels/tiles.h"

namespace moe4::device {

template <class Tile>
struct IndexedStage {
  // Slabs of 64 columns, one 128-byte line a row, 128-byte swizzle: what wgmma and ldmatrix read.
  alignas(1024) std::uint8_t tokens[Tile::kSlabs][Tile::kRows][128];
  // Words of 16 columns: 128 for 64 outputs.
  alignas(1024) std::uint32_t codes[Tile::kDepth / 16][Tile::kOutputs * 2];
  // Of a group, in the order of the layout.
  alignas(1024) std::uint16_t scales[Tile::kDepth / 32][Tile::kOutputs];
};

// What a block multiplies: `columns` of the I inputs, a multiple of 32. latent_tokens begins at the first of
// them, packed_weights and scales at the expert and there, [columns/16, 2·O] and [columns/32, O].
struct IndexedWork {
  const Bf16* latent_tokens;
  const std::uint32_t* packed_weights;
  const std::uint16_t* scales;
  std::int64_t I, columns, O, first_output;
  unsigned threads;  // those that have outputs: the first of the block. The others leave.
};

// The columns of stage k, from k·kDepth on, for the first `rows` rows of the tile; zeros beyond `columns` and
// O, and for rows without a source. sources: of each row of the tile the row of latent_tokens, or negative;
// in shared memory. The loops are rolled: unrolled, their addresses would take the registers of the sums.
template <class Tile>
__device__ __forceinline__ void copy_stage(IndexedStage<Tile>& stage, const IndexedWork& work,
                                           const std::int32_t* sources, int rows, int k) {
#pragma unroll 1
  for (unsigned n = threadIdx.x; n < static_cast<unsigned>(rows) * Tile::kSlabs * 8; n += work.threads) {
    const unsigned chunk = n % 8, slab = n / 8 % Tile::kSlabs, row = n / 8 / Tile::kSlabs;
    const std::int64_t column = std::int64_t{k} * Tile::kDepth + slab * 64 + chunk * 8, source = sources[row];
    const bool real = source >= 0 && column < work.columns;
    copy_async_16(&stage.tokens[slab][0][0] + swizzled<128>(row * 128 + chunk * 16),
                  work.latent_tokens + (real ? source * work.I + column : 0), real);
  }
  constexpr unsigned kCodeChunks = Tile::kOutputs / 2;  // of four words, 16 columns
#pragma unroll 1
  for (unsigned n = threadIdx.x; n < Tile::kDepth / 16 * kCodeChunks; n += work.threads) {
    const unsigned chunk = n % kCodeChunks, step = n / kCodeChunks;
    const std::int64_t row = std::int64_t{k} * (Tile::kDepth / 16) + step,
                       output = work.first_output + chunk / 32 * 64;
    const bool real = row * 16 < work.columns && output < work.O;
    copy_async_16(&stage.codes[step][chunk * 4],
                  work.packed_weights + (real ? row * 2 * work.O + 2 * work.first_output + chunk * 4 : 0),
                  real);
  }
  constexpr unsigned kScaleChunks = Tile::kOutputs / 8;
#pragma unroll 1
  for (unsigned n = threadIdx.x; n < Tile::kDepth / 32 * kScaleChunks; n += work.threads) {
    const unsigned chunk = n % kScaleChunks, group = n / kScaleChunks;
    const std::int64_t row = std::int64_t{k} * (Tile::kDepth / 32) + group,
                       output = work.first_output + chunk * 8;
    const bool real = row * 32 < work.columns && output < work.O;
    copy_async_16(&stage.scales[group][chunk * 8], work.scales + (real ? row * work.O + output : 0), real);
  }
}

}  // namespace moe4::device
