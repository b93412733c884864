#include "gpu/launch/dispatch/expected_blocks.h"

#include <bit>
#include <cmath>
#include <map>
#include <mutex>
#include <random>
#include <utility>

namespace moe4::gpu {
namespace {

constexpr std::size_t kMemoised = 4096;  // answers that are remembered at most

int fewest_blocks(std::int64_t rows, std::int64_t experts) {
  const std::vector<std::int64_t> counts = drawn_rows(rows, experts);
  int best = 8;
  double fewest = INFINITY;
  for (int block_m = 8; block_m <= 176; block_m += 8) {
    double blocks = 0;
    for (const std::int64_t count : counts) blocks += std::ceil(1.1 * static_cast<double>(count) / block_m);
    if (blocks < fewest) {
      fewest = blocks;
      best = block_m;
    }
  }
  return best;
}

}  // namespace

std::vector<std::int64_t> drawn_rows(std::int64_t rows, std::int64_t experts) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(experts));
  const auto last = static_cast<std::uint32_t>(experts - 1);
  const std::uint32_t mask = last == 0 ? 0 : ~std::uint32_t{0} >> std::countl_zero(last);
  std::mt19937 generator(0);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::uint32_t expert = 0;
    if (last != 0) {
      do {
        expert = static_cast<std::uint32_t>(generator()) & mask;
      } while (expert > last);
    }
    ++counts[expert];
  }
  return counts;
}

int block_m_of_fewest_blocks(std::int64_t rows, std::int64_t experts) {
  static std::mutex mutex;
  static std::map<std::pair<std::int64_t, std::int64_t>, int> memo;
  const std::lock_guard lock(mutex);
  if (memo.size() >= kMemoised) memo.clear();
  const auto [place, is_new] = memo.try_emplace({rows, experts}, 0);
  if (is_new) place->second = fewest_blocks(rows, experts);
  return place->second;
}

}  // namespace moe4::gpu
