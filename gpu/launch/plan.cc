#include "gpu/launch/plan.h"

#include <algorithm>
#include <limits>

#include "gpu/launch/arguments.h"

namespace moe4::gpu {
namespace {

// As the kernels declare them; a tile of another size would leave outputs unwritten.
constexpr std::uint32_t kBlockThreads = 128;
constexpr std::uint32_t kWarpThreads = 32;
constexpr std::uint32_t kTileTokens = 4;
constexpr std::uint32_t kTileOutputs = 32;
constexpr std::uint32_t kRowsAWarp = 4;
constexpr std::uint32_t kMmaRows = 8;
constexpr std::uint32_t kMmaOutputs = 64;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

KernelLaunch plan(const Variant& variant, const LaunchShape& shape, const TensorBuffers& buffers,
                  std::int64_t blocks, ptx::Dim3 block) {
  KernelLaunch launch;
  launch.ptx = variant.ptx;
  launch.module_name = variant.file;
  launch.entry = variant.name;
  // A count that does not fit is beyond what any device takes; the largest extent is, too.
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  launch.grid = {static_cast<std::uint32_t>(std::min(blocks, kMost)), 1, 1};
  launch.block = block;
  launch.arguments = arguments_of(variant, shape, buffers);
  return launch;
}

bool has_no_outputs(const LaunchShape& shape) { return shape.tokens == 0 || shape.out == 0; }

}  // namespace

std::optional<KernelLaunch> plan_thread_an_output(const Variant& variant, const LaunchShape& shape,
                                                  const TensorBuffers& buffers) {
  if (has_no_outputs(shape)) return std::nullopt;
  const std::int64_t blocks = ceil_div(shape.tokens * shape.out, kBlockThreads);
  return plan(variant, shape, buffers, blocks, {kBlockThreads, 1, 1});
}

std::optional<KernelLaunch> plan_warp_an_output(const Variant& variant, const LaunchShape& shape,
                                                const TensorBuffers& buffers) {
  if (has_no_outputs(shape)) return std::nullopt;
  const std::int64_t blocks = ceil_div(shape.tokens * shape.out, kBlockThreads / kWarpThreads);
  return plan(variant, shape, buffers, blocks, {kBlockThreads, 1, 1});
}

std::optional<KernelLaunch> plan_tile(const Variant& variant, const LaunchShape& shape,
                                      const TensorBuffers& buffers) {
  if (has_no_outputs(shape)) return std::nullopt;
  const std::int64_t blocks = ceil_div(shape.tokens, kTileTokens) * ceil_div(shape.out, kTileOutputs);
  return plan(variant, shape, buffers, blocks, {kTileTokens, kTileOutputs, 1});
}

std::optional<KernelLaunch> plan_warp_four_rows(const Variant& variant, const LaunchShape& shape,
                                                const TensorBuffers& buffers) {
  const std::int64_t places = variant.op == "indexed" ? shape.capacity : shape.tokens;
  if (has_no_outputs(shape) || places == 0) return std::nullopt;
  const std::int64_t blocks =
      ceil_div(places, kRowsAWarp) * ceil_div(shape.out, kBlockThreads / kWarpThreads);
  return plan(variant, shape, buffers, blocks, {kBlockThreads, 1, 1});
}

std::optional<KernelLaunch> plan_mma_indexed(const Variant& variant, const LaunchShape& shape,
                                             const TensorBuffers& buffers) {
  if (has_no_outputs(shape) || shape.capacity == 0) return std::nullopt;
  const std::int64_t blocks = ceil_div(shape.capacity, kMmaRows) * ceil_div(shape.out, kMmaOutputs);
  return plan(variant, shape, buffers, blocks, {kBlockThreads, 1, 1});
}

}  // namespace moe4::gpu
