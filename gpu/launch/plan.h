// Launch plans: grid, block and arguments of a variant for a shape. One plan a kind of kernel, named as
// kernels.inc names it.
//
// Precondition: a shape that the contract at the head of the kernel accepts. nullopt: the output has no
// elements. The grid is one-dimensional; beyond 2^31-1 blocks the launch itself is refused.
#pragma once

#include <optional>

#include "gpu/kernels/tiles.h"
#include "gpu/launch/variant.h"

namespace moe4::gpu {

using Plan = std::optional<KernelLaunch>(const Variant&, const LaunchShape&, const TensorBuffers&);

Plan plan_thread_an_output;  // 128 threads a block
Plan plan_warp_an_output;    // 4 warps a block
Plan plan_tile;              // 4 tokens × 32 outputs a block

// A warp an output of 4 consecutive places for rows, 4 warps a block. Places: the capacity of sorted_ids
// (indexed), else the rows of latent_tokens.
Plan plan_warp_four_rows;

Plan plan_mma_indexed;  // 8 places of sorted_ids × 64 outputs a block of 4 warps

// The grouped wgmma kernels: kRows rows × 128 outputs a block of 384 threads, tokens, weights and INT4 scales
// as tensor maps (tensor_maps.h), shared memory as gpu/kernels/tiles.h says.
template <int kRows>
Plan plan_wgmma_contiguous;
template <int kRows>
Plan plan_wgmma_masked;

// The INT4 kernels for indexed rows in stages: each block of block_m ids is cut into tiles of Tile::kRows.
template <class Tile>
Plan plan_indexed_tiles;

}  // namespace moe4::gpu
