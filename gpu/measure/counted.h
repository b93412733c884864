// What a kernel moves, counted by the executor on a call of one full tile.
#pragma once

#include <string>

#include "gpu/launch/variant.h"
#include "gpu/ptx/ptx.h"
#include "gpu/ptx/tensor_core.h"

namespace moe4::gpu {

struct Counted {
  LaunchShape shape;
  std::string error;        // nothing was counted, and why
  std::uint64_t floor = 0;  // bytes of all tensors, each once, and of the output
  std::uint64_t tile_floor =
      0;                      // the same where each block brings its own tokens; 0: the kernel has no tiles
  std::uint64_t outputs = 0;  // elements
  std::uint32_t dynamic_shared_bytes = 0;
  ptx::Counters counters;

  std::uint64_t moved() const { return counters.global_load_bytes + counters.global_store_bytes; }
  // How often a byte is asked for: over all blocks, and inside one.
  double ratio() const { return static_cast<double>(moved()) / static_cast<double>(floor); }
  double tile_ratio() const { return static_cast<double>(moved()) / static_cast<double>(tile_floor); }
};

// One expert, as many rows as a tile of the kernel has, 512 outputs, 2048 inputs.
Counted count_call(const Variant& variant, const ptx::TensorCore& tensor_core);

}  // namespace moe4::gpu
