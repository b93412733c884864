#include "gpu/launch/dispatch/indexed_tiling.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "gpu/launch/dispatch/expected_blocks.h"

namespace moe4::gpu {
namespace {

constexpr double kMargin = 1.1;  // rows that an expert may get above the mean

double rows_an_expert(const WeightShape& shape, std::int64_t rows) {
  return static_cast<double>(rows) / static_cast<double>(shape.experts);
}

int eights(double blocks) { return 8 * static_cast<int>(blocks); }

bool few_rows(const WeightShape& shape, std::int64_t rows) { return rows_an_expert(shape, rows) < 80; }

// A window in which two blocks share a multiprocessor without spilling.
bool two_blocks_fit(int block_m) { return block_m >= 40 && block_m <= 80; }

IndexedTiling prefill_tile(const WeightShape& shape, std::int64_t rows) {
  IndexedTiling tile;
  tile.block_m = prefill_block_m(shape, rows);
  if (tile.block_m <= 32) {
    tile.block_n = shape.out <= 4096 ? 128 : 256;
    tile.block_k = shape.out <= 4096 ? 256 : 128;
  } else if (two_blocks_fit(tile.block_m)) {
    tile.blocks_per_sm = 2;
  }
  const bool short_rows = shape.in > 512 && shape.in < 4096;
  tile.stream_k = !(shape.out >= 4096 && short_rows && rows >= 5120);
  return tile;
}

IndexedTiling tensor_parallel_tile(const WeightShape& shape, std::int64_t rows) {
  IndexedTiling tile;
  tile.block_m = tensor_parallel_block_m(shape, rows);
  const bool is_down = shape.in < shape.out;
  if (is_down) {
    tile.block_n = 128;
    tile.block_k = tile.block_m <= 32 ? 128 : 64;
    tile.blocks_per_sm = 2;
    tile.stream_k = rows > 65536;
  } else {
    tile.block_n = tile.block_m <= 64 ? 128 : 256;
    tile.block_k = tile.block_m <= 32 ? 256 : tile.block_m <= 64 ? 128 : 64;
    tile.stream_k = rows < 65536;
  }
  return tile;
}

IndexedTiling swapped_tile(int block_m, bool stream_k) {
  return {.block_m = block_m, .blocks_per_sm = 4, .swapped = true, .stream_k = stream_k};
}

IndexedTiling wide_tile(int block_m, int block_k) {
  return {.block_m = block_m, .block_n = 512, .block_k = block_k, .stream_k = true};
}

IndexedTiling blackwell_tile(const WeightShape& shape, std::int64_t rows) {
  const bool is_down = shape.in < shape.out;
  if (is_down) {
    if (rows <= 272) return swapped_tile(8, false);
    if (rows <= 848) return swapped_tile(16, false);
  } else {
    if (rows <= 320) return swapped_tile(8, true);
    if (rows <= 736) return wide_tile(16, 128);
  }
  return wide_tile(rows <= 1424 ? 32 : 48, 64);
}

IndexedTiling ruled_tile(const Deployment& deployment, const WeightShape& shape, std::int64_t rows) {
  if (deployment.name == "h200_prefill_ep8") return prefill_tile(shape, rows);
  if (deployment.name == "h200_tp8") return tensor_parallel_tile(shape, rows);
  if (deployment.name == "h200_decode_ep8") return swapped_tile(decode_block_m(shape, rows), false);
  if (shape.experts == 48) return blackwell_tile(shape, rows);
  return default_indexed_tiling(deployment, shape);
}

bool power_of_two(int value) { return value > 0 && std::has_single_bit(static_cast<unsigned>(value)); }

}  // namespace

int prefill_block_m(const WeightShape& shape, std::int64_t rows) {
  if (few_rows(shape, rows)) return block_m_of_fewest_blocks(rows, shape.experts);
  const double mean = rows_an_expert(shape, rows);
  const double expected = kMargin * mean;
  const double blocks = std::ceil(expected / 176);
  if (blocks <= 2) return eights(std::ceil(expected / blocks / 8));
  return mean <= 352 && shape.in >= 4096 ? 176 : 128;
}

int tensor_parallel_block_m(const WeightShape& shape, std::int64_t rows) {
  if (few_rows(shape, rows)) return block_m_of_fewest_blocks(rows, shape.experts);
  const double mean = rows_an_expert(shape, rows);
  if (mean <= 128) return eights(std::nearbyint(kMargin * mean / 8));
  return mean <= 190 ? 96 : 128;
}

int decode_block_m(const WeightShape& shape, std::int64_t rows) {
  const double expected = rows_an_expert(shape, rows) / 0.9;
  return expected <= 6 ? 8 : expected <= 13 ? 16 : 24;
}

IndexedTiling default_indexed_tiling(const Deployment& deployment, const WeightShape& shape) {
  IndexedTiling tile;
  tile.block_m = deployment.default_block_m;
  tile.block_n = shape.out % 256 == 0 ? 256 : 128;
  tile.swapped = deployment.swapped;
  tile.blocks_per_sm = deployment.swapped ? 4 : 1;
  return tile;
}

IndexedTiling indexed_tiling(const Deployment& deployment, const WeightShape& shape, std::int64_t rows) {
  const IndexedTiling tile = ruled_tile(deployment, shape, rows);
  return indexed_tiling_error(tile, deployment.layout, shape).empty()
             ? tile
             : default_indexed_tiling(deployment, shape);
}

std::string indexed_tiling_error(const IndexedTiling& tile, std::string_view layout,
                                 const WeightShape& shape) {
  const bool wgmma = layout == "indexed_wgmma";
  if (tile.block_m < 8 || tile.block_m % 8 != 0) return "block_m must be a multiple of 8";
  if (!power_of_two(tile.block_n) || !power_of_two(tile.block_k)) {
    return "block_n and block_k must be powers of two";
  }
  if (tile.block_k < 64) return "block_k must be a multiple of 64";
  if (shape.out % tile.block_n != 0) return "O must be a multiple of block_n";
  if (shape.in % tile.block_k != 0) return "I must be a multiple of block_k";
  if (tile.stages < 2) return "stages must be at least 2";
  if (wgmma && (tile.block_n < 128 || tile.swapped)) return "wgmma needs block_n >= 128 and no swap";
  if (!wgmma && tile.block_m % 16 == 8 && !tile.swapped)
    return "block_m = 8 mod 16 needs the swapped operands";
  if (tile.swapped && tile.block_k != 64) return "swapped operands need block_k = 64";
  if (tile.stream_k && tile.blocks_per_sm > 4) return "stream-K runs at most 4 blocks a multiprocessor";
  return {};
}

}  // namespace moe4::gpu
