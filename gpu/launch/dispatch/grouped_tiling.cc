#include "gpu/launch/dispatch/grouped_tiling.h"

#include <algorithm>

namespace moe4::gpu {
namespace {

constexpr std::int64_t kSharedBytes = 232448;  // of a block on Hopper
constexpr std::int64_t kBarrierBytes = 256;
constexpr std::int64_t kMaxStages = 16;
constexpr std::int64_t kLongRows = 4096;  // I from which decode is bound by the weights alone

std::int64_t align(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }
std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t stage_bytes(const GroupedTiling& tile) {
  const std::int64_t tokens = std::int64_t{2} * tile.block_m * tile.block_k;
  const std::int64_t codes = std::int64_t{tile.block_n} * tile.block_k / 2;
  const std::int64_t scales = align(std::int64_t{2} * tile.block_n * (tile.block_k / 32), 128);
  return tokens + codes + scales;
}

std::int64_t output_bytes(const GroupedTiling& tile) {
  return align(std::int64_t{2} * tile.block_m * tile.block_n, 1024);
}

// The pipeline holds 512 inputs, or 768 where `deep`, and at least three stages.
ChosenGroupedTiling with_stages(GroupedTiling tile, bool deep) {
  const std::int64_t wanted = std::max<std::int64_t>(3, (deep ? 768 : 512) / tile.block_k);
  const std::int64_t fit = (kSharedBytes - output_bytes(tile) - kBarrierBytes) / stage_bytes(tile);
  tile.stages = static_cast<int>(std::min({kMaxStages, fit, wanted}));
  tile.threads = tile.block_n <= 64 ? 256 : 384;
  tile.overlapped = tile.block_m >= 72 || (tile.block_n >= 256 && tile.block_m >= 48);
  const int least = tile.block_m * tile.block_n < 128 * 192 ? 4 : 3;
  if (tile.stages < least)
    return {{}, "no pipeline of " + std::to_string(least) + " stages fits in shared memory"};
  return {tile, {}};
}

std::string shape_error(const WeightShape& shape, std::int64_t rows, std::string_view rows_name,
                        int multiprocessors, int block_k) {
  const auto bad = [](std::string_view field, std::int64_t value, std::string_view rule) {
    return std::string(field) + " = " + std::to_string(value) + ": " + std::string(rule);
  };
  if (shape.experts < 1) return bad("experts", shape.experts, "must be positive");
  if (shape.out < 1 || shape.out % 64 != 0) return bad("out", shape.out, "must be a positive multiple of 64");
  if (shape.in < 1 || shape.in % block_k != 0) {
    return bad("in", shape.in, "must be a positive multiple of " + std::to_string(block_k));
  }
  if (rows < 1) return bad(rows_name, rows, "must be positive");
  if (multiprocessors < 2 || multiprocessors % 2 != 0) {
    return bad("multiprocessors", multiprocessors, "must be a positive even number");
  }
  return {};
}

bool wide_outputs(const WeightShape& shape, int block_m, int multiprocessors) {
  const std::int64_t tiles = shape.experts * ceil_div(shape.out, 256);
  if (shape.in >= kLongRows || block_m < 32) return tiles >= 2 * multiprocessors;
  return block_m < 72 && tiles >= 3 * multiprocessors;
}

}  // namespace

ChosenGroupedTiling grouped_contiguous_tiling(const WeightShape& shape, std::int64_t rows,
                                              int multiprocessors) {
  if (std::string error = shape_error(shape, rows, "rows", multiprocessors, 64); !error.empty())
    return {{}, error};
  const std::int64_t tiles = ceil_div(rows, 128) * ceil_div(shape.out, 128);
  GroupedTiling tile;
  tile.block_m = tiles < multiprocessors ? 64 : 128;
  tile.block_n = 3 * tiles < 2 * multiprocessors ? 64 : 128;
  tile.block_k = 64;
  return with_stages(tile, false);
}

ChosenGroupedTiling grouped_masked_tiling(const WeightShape& shape, std::int64_t expected_m,
                                          int multiprocessors) {
  if (std::string error = shape_error(shape, expected_m, "expected_m", multiprocessors, 128);
      !error.empty()) {
    return {{}, error};
  }
  // From 128 rows on the tile is full whatever the margin; cut there, so that no product overflows.
  const std::int64_t expected = std::min<std::int64_t>(expected_m, 128);
  const std::int64_t with_margin = shape.in >= kLongRows ? 13 * expected / 10 : (5 * expected + 3) / 4;
  GroupedTiling tile;
  tile.block_m =
      static_cast<int>(std::min<std::int64_t>(128, align(std::max<std::int64_t>(16, with_margin), 8)));
  tile.block_n = wide_outputs(shape, tile.block_m, multiprocessors) ? 256 : 128;
  tile.block_k = 128;
  return with_stages(tile, tile.block_m >= 72);
}

std::int64_t grouped_shared_bytes(const GroupedTiling& tile) {
  return tile.stages * stage_bytes(tile) + output_bytes(tile) + kBarrierBytes;
}

}  // namespace moe4::gpu
