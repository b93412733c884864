// How many blocks of block_m rows a routing is expected to fill, before the routing is known.
// Source: the tuning rule of Chord 1f08b1e, which draws experts with numpy's RandomState(0).
#pragma once

#include <cstdint>
#include <vector>

namespace moe4::gpu {

// rows draws of an expert in [0, experts): MT19937 seeded with 0, its 32-bit outputs masked to the bits of
// experts - 1, those beyond it drawn again. The number of rows that each expert got. experts in 1 … 2^32,
// rows >= 0.
std::vector<std::int64_t> drawn_rows(std::int64_t rows, std::int64_t experts);

// The first of 8, 16, …, 176 that needs the fewest blocks in all when each expert gets a tenth more rows than
// drawn. Memoised for each (rows, experts).
int block_m_of_fewest_blocks(std::int64_t rows, std::int64_t experts);

}  // namespace moe4::gpu
