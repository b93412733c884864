// Which tile of the grouped contracts a block of a wgmma kernel computes: outputs innermost, in a grid of one
// dimension.
#pragma once

#include <cstdint>

#include "gpu/kernels/device/parts.cuh"
namespace moe4::device {

struct GroupedPlace {
  int expert;     // negative: nothing to do
  int first_row;  // of the expert's plane of tokens, or of all of them
  int first_output;
};

// grouped_contiguous: the expert of a tile is that of its first row.
template <class Tile>
__device__ __forceinline__ GroupedPlace contiguous_place(const std::int32_t* __restrict__ m_indices,
                                                         std::int64_t O) {
  const unsigned output_tiles = parts_of<Tile::kOutputs>(O);
  const int first_row = static_cast<int>(blockIdx.x / output_tiles) * Tile::kRows;
  return {m_indices[first_row], first_row, static_cast<int>(blockIdx.x % output_tiles) * Tile::kOutputs};
}

// The row of `output` that a row of tokens goes to; -1 for padding.
__device__ __forceinline__ std::int64_t contiguous_row(const std::int32_t* __restrict__ m_indices,
                                                       std::int64_t m, std::int64_t row) {
  return row < m && m_indices[row] >= 0 ? row : -1;
}

// grouped_masked: ceil(max_m / kRows) tiles of rows an expert, of which the first masked_m[e] rows are due.
template <class Tile>
__device__ __forceinline__ GroupedPlace masked_place(const std::int32_t* __restrict__ masked_m,
                                                     std::int64_t O, std::int64_t max_m) {
  const unsigned output_tiles = parts_of<Tile::kOutputs>(O);
  const unsigned row_tiles = parts_of<Tile::kRows>(max_m);
  const unsigned tile = blockIdx.x / output_tiles;
  const int expert = static_cast<int>(tile / row_tiles);
  const int first_row = static_cast<int>(tile % row_tiles) * Tile::kRows;
  return {first_row < masked_m[expert] ? expert : -1, first_row,
          static_cast<int>(blockIdx.x % output_tiles) * Tile::kOutputs};
}

}  // namespace moe4::device
