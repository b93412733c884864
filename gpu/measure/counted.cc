#include "gpu/measure/counted.h"

#include "gpu/measure/sample_call.h"

namespace moe4::gpu {
namespace {

constexpr std::int64_t kOut = 512, kIn = 2048, kUsualRows = 8;

}  // namespace

Counted count_call(const Variant& variant, const ptx::TensorCore& tensor_core) {
  Counted counted;
  if (variant.ptx.empty()) {
    counted.error = "built without the CUDA Toolkit";
    return counted;
  }
  const std::int64_t rows = variant.tile.rows > 0 ? variant.tile.rows : kUsualRows;
  LaunchShape shape;
  shape.tokens = rows;
  shape.out = kOut;
  shape.in = variant.op == "combine" ? 0 : kIn;
  shape.top_k = 1;
  shape.block_m = variant.op == "indexed" ? rows : 0;
  const SampleCall call = sample_call(variant, shape, {rows});
  counted.shape = call.shape;
  const std::unique_ptr<Device> device = make_executor_device();
  TensorBuffers buffers;
  std::uint64_t token_bytes = 0;
  for (const SampleTensor& tensor : call.tensors) {
    buffers.emplace(tensor.name, device->add_input(tensor.name, tensor.bytes));
    counted.floor += tensor.bytes.size();
    if (tensor.name == "latent_tokens") token_bytes = tensor.bytes.size();
  }
  buffers.emplace("output", device->add_output("output", call.output_bytes));
  counted.floor += call.output_bytes;
  if (const int outputs = variant.tile.outputs; outputs > 0) {
    counted.tile_floor = counted.floor + (kOut / static_cast<std::uint64_t>(outputs) - 1) * token_bytes;
  }
  if (variant.workspace_bytes != nullptr) {
    buffers.emplace("workspace", device->add_zeroed("workspace", variant.workspace_bytes(call.shape)));
  }
  counted.outputs = call.output_bytes / (variant.dtype == "f32" ? 4 : 2);
  const std::optional<KernelLaunch> launch = variant.plan(variant, call.shape, buffers);
  if (!launch) {
    counted.error = "nothing to launch";
    return counted;
  }
  counted.dynamic_shared_bytes = launch->dynamic_shared_bytes;
  LaunchSettings settings;
  settings.checks = false;
  settings.tensor_core = &tensor_core;
  const LaunchOutcome outcome = device->launch(*launch, settings);
  if (outcome.error) counted.error = *outcome.error;
  for (const ptx::Finding& finding : outcome.findings) {
    if (!finding.formal) counted.error = ptx::to_string(finding);
  }
  counted.counters = outcome.counters;
  return counted;
}

}  // namespace moe4::gpu
