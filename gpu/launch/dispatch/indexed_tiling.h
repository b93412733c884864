// The tile of the indexed contract: which block_m to align the routing to, and how a kernel cuts outputs and
// inputs. Pure functions of the deployment, the weight shape and the number of routed rows; never of the
// routing itself. Source: the tuning rules of Chord 1f08b1e. Dimensions as in docs/spec: E experts, O
// outputs, I inputs; rows = M·top_k routed rows of this GPU.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/launch/dispatch/deployment.h"

namespace moe4::gpu {

struct IndexedTiling {
  int block_m = 8;    // rows: also the block size of the routing
  int block_n = 256;  // outputs
  int block_k = 64;   // inputs a pipeline stage
  int blocks_per_sm = 1;
  int stages = 4;
  bool swapped = false;   // weights on the M side
  bool stream_k = false;  // the last tiles are cut along I

  bool operator==(const IndexedTiling&) const = default;
};

// rows a (expected) expert below which block_m is the one of fewest expected blocks.
int prefill_block_m(const WeightShape& shape, std::int64_t rows);          // h200_prefill_ep8
int tensor_parallel_block_m(const WeightShape& shape, std::int64_t rows);  // h200_tp8
int decode_block_m(const WeightShape& shape, std::int64_t rows);           // h200_decode_ep8

// The tile for a deployment of op "indexed". Where its rules give a tile that the shape does not allow, and
// for Blackwell with other than 48 experts, default_indexed_tiling.
IndexedTiling indexed_tiling(const Deployment& deployment, const WeightShape& shape, std::int64_t rows);

// The deployment's default_block_m, the largest block_n of 256, 128 that divides O, block_k 64.
IndexedTiling default_indexed_tiling(const Deployment& deployment, const WeightShape& shape);

// Why a tile is none that a kernel of this layout can have for the shape; empty if it is.
std::string indexed_tiling_error(const IndexedTiling& tile, std::string_view layout,
                                 const WeightShape& shape);

}  // namespace moe4::gpu
