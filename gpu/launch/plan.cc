#include "gpu/launch/plan.h"

#include <algorithm>
#include <limits>

namespace moe4::gpu {
namespace {

// As the kernels declare them; a tile of another size would leave outputs unwritten.
constexpr std::uint32_t kBlockThreads = 128;
constexpr std::uint32_t kWarpThreads = 32;
constexpr std::uint32_t kTileTokens = 4;
constexpr std::uint32_t kTileOutputs = 32;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

Argument address(BufferId buffer) { return {Argument::Kind::kBuffer, buffer, 0}; }

Argument integer(std::int64_t value) { return {Argument::Kind::kU64, {}, static_cast<std::uint64_t>(value)}; }

KernelLaunch plan(const Variant& variant, const ExpertLinearShape& shape, const ExpertLinearBuffers& buffers,
                  std::int64_t blocks, ptx::Dim3 block) {
  KernelLaunch launch;
  launch.ptx = variant.ptx;
  launch.module_name = variant.file;
  launch.entry = variant.name;
  // A count that does not fit is beyond what any device takes; the largest extent is, too.
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  launch.grid = {static_cast<std::uint32_t>(std::min(blocks, kMost)), 1, 1};
  launch.block = block;
  launch.arguments = {address(buffers.latent_tokens),
                      address(buffers.packed_weights),
                      address(buffers.scale_bytes),
                      address(buffers.selected_experts),
                      address(buffers.mixture_weights),
                      address(buffers.shared_output),
                      address(buffers.output),
                      integer(shape.tokens),
                      integer(shape.experts),
                      integer(shape.in),
                      integer(shape.out),
                      integer(shape.top_k)};
  return launch;
}

bool has_no_outputs(const ExpertLinearShape& shape) { return shape.tokens == 0 || shape.out == 0; }

}  // namespace

std::optional<KernelLaunch> plan_thread_an_output(const Variant& variant, const ExpertLinearShape& shape,
                                                  const ExpertLinearBuffers& buffers) {
  if (has_no_outputs(shape)) return std::nullopt;
  const std::int64_t blocks = ceil_div(shape.tokens * shape.out, kBlockThreads);
  return plan(variant, shape, buffers, blocks, {kBlockThreads, 1, 1});
}

std::optional<KernelLaunch> plan_warp_an_output(const Variant& variant, const ExpertLinearShape& shape,
                                                const ExpertLinearBuffers& buffers) {
  if (has_no_outputs(shape)) return std::nullopt;
  const std::int64_t blocks = ceil_div(shape.tokens * shape.out, kBlockThreads / kWarpThreads);
  return plan(variant, shape, buffers, blocks, {kBlockThreads, 1, 1});
}

std::optional<KernelLaunch> plan_tile(const Variant& variant, const ExpertLinearShape& shape,
                                      const ExpertLinearBuffers& buffers) {
  if (has_no_outputs(shape)) return std::nullopt;
  const std::int64_t blocks = ceil_div(shape.tokens, kTileTokens) * ceil_div(shape.out, kTileOutputs);
  return plan(variant, shape, buffers, blocks, {kTileTokens, kTileOutputs, 1});
}

}  // namespace moe4::gpu
