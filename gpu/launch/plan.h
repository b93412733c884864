// Launch plans: grid, block and arguments of a variant for a shape. One plan a kind of kernel; kernels.inc
// names it by its rule, which says the tile too.
//
// Precondition: a shape that the contract at the head of the kernel accepts. nullopt: the output has no
// elements. The grid is one-dimensional; beyond 2^31-1 blocks the launch itself is refused.
#pragma once

#include <optional>

#include "gpu/kernels/tiles.h"
#include "gpu/launch/variant.h"

namespace moe4::gpu {

using Plan = std::optional<KernelLaunch>(const Variant&, const LaunchShape&, const TensorBuffers&);

struct LaunchRule {
  Plan* plan = nullptr;
  TileSizes tile = {};
  std::uint64_t (*workspace_bytes)(const LaunchShape&) = nullptr;
};

template <class Tile>
inline constexpr TileSizes sizes_of_tile = {Tile::kRows, Tile::kOutputs, Tile::kDepth, 1, Tile::kSwapped};

// 128 outputs of a token a block, a thread each.
Plan plan_thread_an_output;
inline constexpr LaunchRule thread_an_output = {plan_thread_an_output};

// 4 outputs of a token a block, a warp each.
Plan plan_warp_an_output;
inline constexpr LaunchRule warp_an_output = {plan_warp_an_output};

// 4 tokens × 32 outputs a block.
Plan plan_small_tile;
inline constexpr LaunchRule small_tile = {plan_small_tile, {4, 32}};

// A warp an output of 4 consecutive places for rows, 4 warps a block. Places: the capacity of sorted_ids
// (indexed), else the rows of latent_tokens.
Plan plan_warp_four_rows;
inline constexpr LaunchRule warp_four_rows = {plan_warp_four_rows, {4, 4}};

// 8 places of sorted_ids × 64 outputs a block of 4 warps.
Plan plan_mma_indexed;
inline constexpr LaunchRule mma_indexed = {plan_mma_indexed, {8, 64, 64}};

// The grouped wgmma kernels: tokens, weights and INT4 scales as tensor maps (tensor_maps.h), threads and
// shared memory as gpu/kernels/tiles.h says.
template <class Tile>
Plan plan_contiguous_tiles;
template <class Tile>
inline constexpr LaunchRule contiguous_tiles = {plan_contiguous_tiles<Tile>, sizes_of_tile<Tile>};

template <class Tile>
Plan plan_masked_tiles;
template <class Tile>
inline constexpr LaunchRule masked_tiles = {plan_masked_tiles<Tile>, sizes_of_tile<Tile>};

// The INT4 kernels for indexed rows in stages: each block of block_m ids is cut into tiles of Tile::kRows.
template <class Tile>
Plan plan_indexed_tiles;
template <class Tile>
inline constexpr LaunchRule indexed_tiles = {plan_indexed_tiles<Tile>, sizes_of_tile<Tile>};

// The same with the inputs of each tile shared by kSlices blocks (stream-K): a count of turns, I32, a tile.
template <class Tile, int kSlices>
Plan plan_stream_tiles;
template <class Tile>
std::uint64_t turns_bytes(const LaunchShape& shape);
template <class Tile, int kSlices>
inline constexpr LaunchRule stream_tiles = {
    plan_stream_tiles<Tile, kSlices>,
    {Tile::kRows, Tile::kOutputs, Tile::kDepth, kSlices, Tile::kSwapped},
    turns_bytes<Tile>};

}  // namespace moe4::gpu
