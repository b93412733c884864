// The tile of the grouped contracts: pure functions of the shape and of the multiprocessors, and for the
// masked one of the expected rows. Source: the heuristics of Chord 1f08b1e, themselves after DeepGEMM's.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/layout/packer.h"

namespace moe4::gpu {

struct GroupedTiling {
  int block_m = 64;  // rows
  int block_n = 64;  // outputs
  int block_k = 64;  // inputs a pipeline stage
  int stages = 0;
  int threads = 256;        // one producer warpgroup and one or two consumers
  bool overlapped = false;  // one wgmma group stays in flight while the next weights are decoded

  bool operator==(const GroupedTiling&) const = default;
};

// Either a tile or why there is none.
struct ChosenGroupedTiling {
  GroupedTiling tile;
  std::string error;
};

// rows: m, those of latent_tokens. multiprocessors: of the GPU, even.
ChosenGroupedTiling grouped_contiguous_tiling(const WeightShape& shape, std::int64_t rows,
                                              int multiprocessors);

// expected_m: mean rows an expert, a hint that changes no result.
ChosenGroupedTiling grouped_masked_tiling(const WeightShape& shape, std::int64_t expected_m,
                                          int multiprocessors);

// Shared memory of a tile, bytes: tokens and weights and scales for each stage, one output tile, barriers.
std::int64_t grouped_shared_bytes(const GroupedTiling& tile);

}  // namespace moe4::gpu
