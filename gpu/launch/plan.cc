#include "gpu/launch/plan.h"

#include <algorithm>
#include <limits>

#include "gpu/launch/arguments.h"
#include "gpu/launch/embedded_images.h"
#include "gpu/launch/embedded_ptx.h"
#include "gpu/launch/launch_of.h"

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

// The images of a variant's file, if its text is the file's: a text with edits has none.
std::span<const KernelImage> images_of(const Variant& variant) {
  const std::size_t slash = variant.file.rfind('/') + 1;
  const std::string_view stem = variant.file.substr(slash, variant.file.rfind('.') - slash);
  const std::string_view text = embedded_ptx(stem);
  return text.data() == variant.ptx.data() ? embedded_images(stem) : std::span<const KernelImage>();
}

}  // namespace

KernelLaunch launch_of(const Variant& variant, const LaunchShape& shape, const TensorBuffers& buffers,
                       std::int64_t blocks, ptx::Dim3 block) {
  KernelLaunch launch;
  launch.ptx = variant.ptx;
  launch.images = images_of(variant);
  launch.module_name = variant.file;
  launch.entry = variant.name;
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  launch.grid = {static_cast<std::uint32_t>(std::min(blocks, kMost)), 1, 1};
  launch.block = block;
  launch.arguments = arguments_of(variant, shape, buffers);
  return launch;
}

std::optional<KernelLaunch> plan_thread_an_output(const Variant& variant, const LaunchShape& shape,
                                                  const TensorBuffers& buffers) {
  if (has_no_outputs(shape)) return std::nullopt;
  const std::int64_t blocks = shape.tokens * ceil_div(shape.out, kBlockThreads);
  return launch_of(variant, shape, buffers, blocks, {kBlockThreads, 1, 1});
}

std::optional<KernelLaunch> plan_warp_an_output(const Variant& variant, const LaunchShape& shape,
                                                const TensorBuffers& buffers) {
  if (has_no_outputs(shape)) return std::nullopt;
  const std::int64_t blocks = shape.tokens * ceil_div(shape.out, kBlockThreads / kWarpThreads);
  return launch_of(variant, shape, buffers, blocks, {kBlockThreads, 1, 1});
}

std::optional<KernelLaunch> plan_small_tile(const Variant& variant, const LaunchShape& shape,
                                            const TensorBuffers& buffers) {
  if (has_no_outputs(shape)) return std::nullopt;
  const std::int64_t blocks = ceil_div(shape.tokens, kTileTokens) * ceil_div(shape.out, kTileOutputs);
  return launch_of(variant, shape, buffers, blocks, {kTileTokens, kTileOutputs, 1});
}

std::optional<KernelLaunch> plan_warp_four_rows(const Variant& variant, const LaunchShape& shape,
                                                const TensorBuffers& buffers) {
  const std::int64_t places = variant.op == "indexed" ? shape.capacity : shape.tokens;
  if (has_no_outputs(shape) || places == 0) return std::nullopt;
  const std::int64_t blocks =
      ceil_div(places, kRowsAWarp) * ceil_div(shape.out, kBlockThreads / kWarpThreads);
  return launch_of(variant, shape, buffers, blocks, {kBlockThreads, 1, 1});
}

std::optional<KernelLaunch> plan_mma_indexed(const Variant& variant, const LaunchShape& shape,
                                             const TensorBuffers& buffers) {
  if (has_no_outputs(shape) || shape.capacity == 0) return std::nullopt;
  const std::int64_t blocks = ceil_div(shape.capacity, kMmaRows) * ceil_div(shape.out, kMmaOutputs);
  return launch_of(variant, shape, buffers, blocks, {kBlockThreads, 1, 1});
}

}  // namespace moe4::gpu
