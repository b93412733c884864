// The plans of kernels with tiles, for any tile: what kernels.inc names is made where it is read
// (variants.cc).
#pragma once

#include "gpu/launch/launch_of.h"
#include "gpu/launch/plan.h"
#include "gpu/launch/tensor_maps.h"

namespace moe4::gpu {
inline void pass_as_map(Argument& argument, const ptx::TensorMap& map) {
  argument.kind = Argument::Kind::kTensorMap;
  argument.map = map;
}

template <class Tile>
std::int64_t indexed_tile_count(const LaunchShape& shape) {
  return ceil_div(shape.capacity, shape.block_m) * ceil_div(shape.block_m, Tile::kRows) *
         ceil_div(shape.out, Tile::kOutputs);
}

template <class Tile>
KernelLaunch launch_of_tiles(const Variant& variant, const LaunchShape& shape, const TensorBuffers& buffers,
                             std::int64_t row_tiles, const ptx::TensorMap& tokens) {
  const std::int64_t blocks = row_tiles * ceil_div(shape.out, Tile::kOutputs);
  KernelLaunch launch = launch_of(variant, shape, buffers, blocks, {Tile::kThreads, 1, 1});
  launch.dynamic_shared_bytes = Tile::kSharedBytes;
  pass_as_map(launch.arguments[0], tokens);
  pass_as_map(launch.arguments[1],
              code_map(shape.experts, shape.out, shape.in, {Tile::kOutputs, Tile::kDepth}));
  if (Tile::kScaleBytes == 2) {
    pass_as_map(launch.arguments[2],
                scale_map(shape.experts, shape.out, shape.in, {Tile::kOutputs, Tile::kDepth}));
  }
  return launch;
}

template <class Tile>
std::optional<KernelLaunch> plan_contiguous_tiles(const Variant& variant, const LaunchShape& shape,
                                                  const TensorBuffers& buffers) {
  if (has_no_outputs(shape)) return std::nullopt;
  return launch_of_tiles<Tile>(variant, shape, buffers, ceil_div(shape.tokens, Tile::kRows),
                               token_map(1, shape.tokens, shape.in, Tile::kRows));
}

template <class Tile>
std::optional<KernelLaunch> plan_masked_tiles(const Variant& variant, const LaunchShape& shape,
                                              const TensorBuffers& buffers) {
  if (has_no_outputs(shape) || shape.max_m == 0) return std::nullopt;
  return launch_of_tiles<Tile>(variant, shape, buffers, shape.experts * ceil_div(shape.max_m, Tile::kRows),
                               token_map(shape.experts, shape.max_m, shape.in, Tile::kRows));
}

template <class Tile>
std::optional<KernelLaunch> plan_indexed_tiles(const Variant& variant, const LaunchShape& shape,
                                               const TensorBuffers& buffers) {
  return plan_stream_tiles<Tile, 1>(variant, shape, buffers);
}

template <class Tile, int kSlices>
std::optional<KernelLaunch> plan_stream_tiles(const Variant& variant, const LaunchShape& shape,
                                              const TensorBuffers& buffers) {
  if (has_no_outputs(shape) || shape.capacity == 0) return std::nullopt;
  KernelLaunch launch =
      launch_of(variant, shape, buffers, kSlices * indexed_tile_count<Tile>(shape), {Tile::kThreads, 1, 1});
  launch.dynamic_shared_bytes = Tile::kSharedBytes;
  return launch;
}

template <class Tile>
std::uint64_t turns_bytes(const LaunchShape& shape) {
  if (has_no_outputs(shape) || shape.capacity == 0) return 0;
  return sizeof(std::int32_t) * static_cast<std::uint64_t>(indexed_tile_count<Tile>(shape));
}

}  // namespace moe4::gpu
