// Which places of sorted_ids a block of an indexed kernel computes, and what stands there.
#pragma once

#include <cstdint>

#include "gpu/kernels/device/indexed_stages.cuh"
#include "gpu/kernels/device/parts.cuh"

namespace moe4::device {

struct IndexedIds {
  const std::int32_t* __restrict__ sorted_ids;
  const std::int32_t* __restrict__ expert_ids;
  const std::int32_t* __restrict__ num_tokens_padded;
  std::int64_t M, top_k, block_m;
};

template <int kRows>
struct IndexedRows {
  std::int32_t ids[kRows];      // rows of the output; negative: none
  std::int32_t sources[kRows];  // rows of latent_tokens; negative: none
};

template <class Tile>
__device__ __forceinline__ unsigned output_tiles(std::int64_t O) {  // <= gridDim.x
  return parts_of<Tile::kOutputs>(O);
}

// The rows of tile `place`, which is of the places / output_tiles and of the outputs % output_tiles: each
// block of block_m ids is cut into tiles of kRows. Fills `rows`, in shared memory, and returns the tile's
// expert, or -1 where no row is due. By all threads; a barrier is in it.
template <class Tile>
__device__ __forceinline__ std::int64_t indexed_rows(IndexedRows<Tile::kRows>& rows, const IndexedIds& ids,
                                                     std::int64_t O, unsigned place) {
  const unsigned block_tiles = parts_of<Tile::kRows>(ids.block_m);
  const unsigned tile = place / output_tiles<Tile>(O);
  const std::int64_t block = tile / block_tiles;
  const int first_row = static_cast<int>(tile % block_tiles) * Tile::kRows;  // of the block
  const auto valid_ids = static_cast<std::uint32_t>(ids.M * ids.top_k);
  const std::int64_t end = *ids.num_tokens_padded;
  bool due = false;
  static_assert(Tile::kRows <= Tile::kThreads, "a thread a row");
  if (const int r = threadIdx.x; r < Tile::kRows) {
    const std::int64_t at = block * ids.block_m + first_row + r;
    const bool active = first_row + r < ids.block_m && at < end;
    const std::uint32_t id = active ? static_cast<std::uint32_t>(ids.sorted_ids[at]) : 0xFFFFFFFFu;
    const bool valid = id < valid_ids;
    rows.ids[r] = valid ? static_cast<std::int32_t>(id) : -1;
    rows.sources[r] = valid ? static_cast<std::int32_t>(id / static_cast<std::uint32_t>(ids.top_k)) : -1;
    due = valid;
  }
  if (!__syncthreads_or(due)) return -1;
  return ids.expert_ids[block];
}

// What a block multiplies for that expert in that tile: all columns.
template <class Tile>
__device__ __forceinline__ IndexedWork indexed_work(const Bf16* __restrict__ latent_tokens,
                                                    const std::uint32_t* __restrict__ packed_weights,
                                                    const std::uint16_t* __restrict__ scales,
                                                    std::int64_t expert, std::int64_t I, std::int64_t O,
                                                    unsigned place) {
  const std::int64_t first_output = std::int64_t{place % output_tiles<Tile>(O)} * Tile::kOutputs;
  const unsigned parts = parts_of<Tile::kPartOutputs>(O - first_output);
  return {latent_tokens,
          packed_weights + expert * whole_parts_of<16>(I) * (2 * O),
          scales + expert * whole_parts_of<32>(I) * O,
          I,
          I,
          O,
          first_output,
          min(parts * Tile::kPartThreads, static_cast<unsigned>(Tile::kThreads))};
}

}  // namespace moe4::device
