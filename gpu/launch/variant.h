// The registry of our kernels, from gpu/kernels.inc: one line a variant.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/device/device.h"

namespace moe4::gpu {

// The sizes that a launch plan depends on. Shapes and capacities only: never data, so that a plan holds for
// any routing. What an operation does not have is 0.
struct LaunchShape {
  // T: rows of latent_tokens (indexed M, grouped_contiguous m, grouped_masked E·max_m); combine: of output.
  std::int64_t tokens = 0;
  std::int64_t experts = 0, in = 0, out = 0, top_k = 0;
  std::int64_t block_m = 0, capacity = 0;  // indexed: rows of a block of ids; elements of sorted_ids
  std::int64_t max_m = 0;                  // grouped_masked
};

// The buffers of a call by the names of its tensors: "latent_tokens", "output", …; and "workspace" for a
// variant that has one.
using TensorBuffers = std::map<std::string, BufferId, std::less<>>;

// What a block of a variant makes: rows × outputs, depth inputs a pipeline stage, in `slices` blocks that
// share the inputs. 0: the kernel has no such tile (a thread or a warp makes an output from start to end).
struct TileSizes {
  int rows = 0, outputs = 0, depth = 0, slices = 1;
  bool swapped = true;  // weights are the M side of the matrix instruction

  bool operator==(const TileSizes&) const = default;
};

struct Variant {
  std::string_view name;         // "mxfp4_linear_warp_bf16"; also the entry
  std::string_view dtype;        // "bf16", "f32": of tokens, shared and output
  std::string_view file;         // "gpu/kernels/mxfp4_linear_warp.cu"
  std::string_view declaration;  // JSON, schema in docs/declaration.md
  std::string_view ptx;          // empty when built without the CUDA Toolkit
  // Grid, block, shared memory and arguments for a shape. nullopt: nothing to launch (no output element).
  std::optional<KernelLaunch> (*plan)(const Variant&, const LaunchShape&, const TensorBuffers&);
  std::string_view op = "expert_linear";  // "indexed", "grouped_contiguous", "grouped_masked", "combine"
  std::string_view weights = "mxfp4";     // "int4"; combine reads none
  std::string_view layout = {};           // of the packed weights it reads; empty: as in case files
  TileSizes tile = {};
  // Bytes of "workspace", through which blocks pass turns; null: the kernel has none. Zeros before the first
  // launch; every launch leaves zeros.
  std::uint64_t (*workspace_bytes)(const LaunchShape&) = nullptr;
};

std::span<const Variant> variants();  // all lines of gpu/kernels.inc, in order

}  // namespace moe4::gpu
