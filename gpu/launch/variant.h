// The registry of our kernels, from gpu/kernels.inc: one line a variant.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "gpu/device/device.h"

namespace moe4::gpu {

// The sizes a launch plan depends on. Shapes only: never data.
struct ExpertLinearShape {
  std::int64_t tokens = 0, experts = 0, in = 0, out = 0, top_k = 0;
};

// Buffers of one expert_linear call, in the order of the kernels' arguments.
struct ExpertLinearBuffers {
  BufferId latent_tokens, packed_weights, scale_bytes, selected_experts, mixture_weights, shared_output,
      output;
};

struct Variant {
  std::string_view name;         // "mxfp4_linear_warp_bf16"; also the entry
  std::string_view dtype;        // "bf16", "f32": of tokens, shared and output
  std::string_view file;         // "gpu/kernels/mxfp4_linear_warp.cu"
  std::string_view declaration;  // JSON, schema in docs/declaration.md
  std::string_view ptx;          // empty when built without the CUDA Toolkit
  // Grid, block, shared memory and arguments for a shape. nullopt: nothing to launch (an empty output).
  std::optional<KernelLaunch> (*plan)(const Variant&, const ExpertLinearShape&, const ExpertLinearBuffers&);
};

std::span<const Variant> variants();  // all lines of gpu/kernels.inc, in order

}  // namespace moe4::gpu
