#include "reference/accumulate/stream_k.h"

#include <algorithm>

namespace moe4 {
namespace {

// s of PRO-14.
std::int64_t shared_tiles(const StreamKLaunch& launch) {
  if (launch.tiles() <= launch.blocks) return launch.tiles();
  const std::int64_t rest = launch.tiles() % launch.blocks;
  const bool too_thin = rest > 0 && 10 * rest <= launch.blocks;
  return too_thin ? rest + launch.blocks : rest;
}

}  // namespace

std::int64_t whole_tiles(const StreamKLaunch& launch) { return launch.tiles() - shared_tiles(launch); }

std::vector<Slice> stream_k_slices(const StreamKLaunch& launch, std::int64_t tile) {
  const std::int64_t first_cut_tile = whole_tiles(launch);
  if (tile < first_cut_tile) return {{0, launch.steps}};
  const std::int64_t range = shared_tiles(launch) * launch.steps;
  const std::int64_t share = (range + launch.blocks - 1) / launch.blocks;  // T
  const std::int64_t begin = (tile - first_cut_tile) * launch.steps;
  const std::int64_t end = begin + launch.steps;
  std::vector<Slice> slices;
  for (std::int64_t from = begin; from < end;) {
    const std::int64_t to = std::min(end, (from / share + 1) * share);
    slices.push_back({from - begin, to - begin});
    from = to;
  }
  return slices;
}

}  // namespace moe4
