// What a kernel moves, counted by the executor on a call of one full tile.
#pragma once

#include <string>

#include "gpu/launch/variant.h"
#include "gpu/ptx/ptx.h"
#include "gpu/ptx/tensor_core.h"

namespace moe4::gpu {

struct Counted {
  LaunchShape shape;
  std::string error;          // nothing was counted, and why
  std::uint64_t floor = 0;    // bytes of all tensors, each once, and of the output
  std::uint64_t outputs = 0;  // elements
  std::uint32_t dynamic_shared_bytes = 0;
  ptx::Counters counters;

  std::uint64_t moved() const { return counters.global_load_bytes + counters.global_store_bytes; }
  double ratio() const { return static_cast<double>(moved()) / static_cast<double>(floor); }
};

// One expert, as many rows as a tile of the kernel has, 512 outputs, 2048 inputs.
Counted count_call(const Variant& variant, const ptx::TensorCore& tensor_core);

}  // namespace moe4::gpu
