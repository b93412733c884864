// PRO-14: how a stream-K launch cuts a tile's columns into slices.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/accumulate/order.h"

namespace moe4 {

// A launch, all at least 1. Row blocks and column blocks of the output make the tiles.
struct StreamKLaunch {
  std::int64_t blocks = 1;         // G: blocks of threads, multiprocessors times blocks on each
  std::int64_t row_blocks = 1;     // ceil(num_tokens_padded / block_m)
  std::int64_t column_blocks = 1;  // O / block_n
  std::int64_t steps = 1;          // KB = I / block_k

  std::int64_t tiles() const { return row_blocks * column_blocks; }
};

// Tiles 0 … this-1 are not cut.
std::int64_t whole_tiles(const StreamKLaunch& launch);

// The slices of a tile in units of block_k, ascending; one if it is not cut. A kernel numbers them from the
// last. Tile m·column_blocks + n is row block m, column block n. Precondition: 0 <= tile < tiles.
std::vector<Slice> stream_k_slices(const StreamKLaunch& launch, std::int64_t tile);

}  // namespace moe4
