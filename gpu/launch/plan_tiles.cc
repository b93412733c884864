#include "gpu/launch/launch_of.h"
#include "gpu/launch/plan.h"
#include "gpu/launch/tensor_maps.h"

namespace moe4::gpu {
namespace {

constexpr int kContiguousDepth = 64, kMaskedDepth = 128;  // BLOCK_K

void pass_as_map(Argument& argument, const ptx::TensorMap& map) {
  argument.kind = Argument::Kind::kTensorMap;
  argument.map = map;
}

template <int kRows, int kDepth>
KernelLaunch launch_of_tiles(const Variant& variant, const LaunchShape& shape, const TensorBuffers& buffers,
                             std::int64_t row_tiles, const ptx::TensorMap& tokens) {
  using Int4Tile = WgmmaTile<kRows, kDepth, 2>;
  using Mxfp4Tile = WgmmaTile<kRows, kDepth, 1>;
  const bool int4 = variant.weights == "int4";
  const std::int64_t blocks = row_tiles * ceil_div(shape.out, Int4Tile::kOutputs);
  KernelLaunch launch = launch_of(variant, shape, buffers, blocks, {kGroupedThreads, 1, 1});
  launch.dynamic_shared_bytes = int4 ? Int4Tile::kSharedBytes : Mxfp4Tile::kSharedBytes;
  pass_as_map(launch.arguments[0], tokens);
  pass_as_map(launch.arguments[1], code_map(shape.experts, shape.out, shape.in, kDepth));
  if (int4) {
    pass_as_map(launch.arguments[2], scale_map(shape.experts, shape.out, shape.in, Int4Tile::kGroups));
  }
  return launch;
}

}  // namespace

template <int kRows>
std::optional<KernelLaunch> plan_wgmma_contiguous(const Variant& variant, const LaunchShape& shape,
                                                  const TensorBuffers& buffers) {
  if (has_no_outputs(shape)) return std::nullopt;
  return launch_of_tiles<kRows, kContiguousDepth>(variant, shape, buffers, ceil_div(shape.tokens, kRows),
                                                  token_map(1, shape.tokens, shape.in, kRows));
}

template <int kRows>
std::optional<KernelLaunch> plan_wgmma_masked(const Variant& variant, const LaunchShape& shape,
                                              const TensorBuffers& buffers) {
  if (has_no_outputs(shape) || shape.max_m == 0) return std::nullopt;
  return launch_of_tiles<kRows, kMaskedDepth>(variant, shape, buffers,
                                              shape.experts * ceil_div(shape.max_m, kRows),
                                              token_map(shape.experts, shape.max_m, shape.in, kRows));
}

template <class Tile>
std::optional<KernelLaunch> plan_indexed_tiles(const Variant& variant, const LaunchShape& shape,
                                               const TensorBuffers& buffers) {
  if (has_no_outputs(shape) || shape.capacity == 0) return std::nullopt;
  const std::int64_t blocks = ceil_div(shape.capacity, shape.block_m) * ceil_div(shape.block_m, Tile::kRows) *
                              ceil_div(shape.out, Tile::kOutputs);
  KernelLaunch launch = launch_of(variant, shape, buffers, blocks, {Tile::kThreads, 1, 1});
  launch.dynamic_shared_bytes = Tile::kSharedBytes;
  return launch;
}

template Plan plan_wgmma_contiguous<64>;
template Plan plan_wgmma_contiguous<128>;
template Plan plan_wgmma_masked<16>;
template Plan plan_wgmma_masked<64>;
template Plan plan_wgmma_masked<128>;
template Plan plan_indexed_tiles<PrefillTile16>;
template Plan plan_indexed_tiles<PrefillTile32>;
template Plan plan_indexed_tiles<PrefillTile64>;
template Plan plan_indexed_tiles<PrefillTile176>;
template Plan plan_indexed_tiles<DecodeTile24>;
template Plan plan_indexed_tiles<WideTile32>;
template Plan plan_indexed_tiles<WideTile48>;

}  // namespace moe4::gpu
