// From packed INT4 weights and the sizes of a call to the kernel that runs it and the rows of its blocks.
// Depends on shapes, architecture and hints only: nothing is read from the device, so that what is launched
// can be captured and replayed with another routing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gpu/launch/dispatch/packed_weight.h"
#include "gpu/launch/variant.h"

namespace moe4::gpu {

struct Call {
  std::string_view
      op;  // the contract that the caller speaks: "indexed", "grouped_contiguous", "grouped_masked"
  Capability capability = 90;
  int multiprocessors = 132;
  std::int64_t in = 0;  // I of latent_tokens
  std::int64_t rows =
      0;  // indexed M·top_k; grouped_contiguous m; grouped_masked E·max_m. 0: nothing to compute
  // indexed: the block size that the routing was aligned to; absent: the caller will align to what is picked.
  std::optional<std::int32_t> block_m = {};
  std::optional<std::int64_t> expected_m = {};  // grouped_masked only, and required there
};

struct PickedKernel {
  const Variant* variant = nullptr;
  std::int32_t block_m = 0;  // indexed: to align the routing to. grouped: rows of a tile
  std::string error;         // of field, value and rule; variant is null then
};

// Of the variants that read the weights' layout (and, where the tiling says so, have the operands swapped):
// the one whose tile of rows is the smallest that holds block_m, else the largest; of those, the one nearest
// in outputs, then in depth, to the tiling. Where the tiling has stream-K and the tiles leave half of the
// multiprocessors' room free or more, two or three blocks share a tile. Memoised by weights' deployment and
// shape and by the call.
PickedKernel pick_kernel(const PackedWeight& weight, const Call& call);

}  // namespace moe4::gpu
