#include "reference/routing/align_blocks.h"

#include <algorithm>

namespace moe4 {

AlignedRoutes align_blocks(const Routes& routes, std::int64_t experts, std::int64_t block_m) {
  AlignedRoutes aligned{routes.tokens, routes.top_k, block_m, {}, {}, 0};
  std::vector<std::vector<std::int32_t>> ids_of(static_cast<std::size_t>(experts));
  for (std::size_t id = 0; id < routes.expert.size(); ++id) {
    const std::int32_t expert = routes.expert[id];
    if (expert >= 0) ids_of[static_cast<std::size_t>(expert)].push_back(static_cast<std::int32_t>(id));
  }
  const auto sentinel = static_cast<std::int32_t>(routes.tokens * routes.top_k);
  const auto block = static_cast<std::size_t>(block_m);
  for (std::size_t expert = 0; expert < ids_of.size(); ++expert) {
    std::vector<std::int32_t>& ids = ids_of[expert];
    const std::size_t blocks = (ids.size() + block - 1) / block;
    ids.resize(blocks * block, sentinel);
    aligned.sorted_ids.insert(aligned.sorted_ids.end(), ids.begin(), ids.end());
    aligned.expert_ids.insert(aligned.expert_ids.end(), blocks, static_cast<std::int32_t>(expert));
  }
  aligned.num_tokens_padded = static_cast<std::int32_t>(aligned.sorted_ids.size());
  return aligned;
}

std::int64_t aligned_capacity(std::int64_t routes, std::int64_t experts, std::int64_t block_m) {
  const std::int64_t capacity = routes + experts * (block_m - 1);
  return routes < experts ? std::min(capacity, routes * block_m) : capacity;
}

AlignedRoutes with_tail(AlignedRoutes aligned, std::int64_t capacity, std::int32_t id, std::int32_t expert) {
  const std::int64_t blocks = (capacity + aligned.block_m - 1) / aligned.block_m;
  aligned.sorted_ids.resize(static_cast<std::size_t>(capacity), id);
  aligned.expert_ids.resize(static_cast<std::size_t>(blocks), expert);
  return aligned;
}

Routes routes_from(const AlignedRoutes& aligned) {
  const std::int64_t count = aligned.tokens * aligned.top_k;
  Routes routes{aligned.tokens, aligned.top_k,
                std::vector<std::int32_t>(static_cast<std::size_t>(count), -1)};
  for (std::int64_t r = 0; r < aligned.num_tokens_padded; ++r) {
    const std::int32_t id = aligned.sorted_ids[static_cast<std::size_t>(r)];
    if (id >= count) continue;
    routes.expert[static_cast<std::size_t>(id)] =
        aligned.expert_ids[static_cast<std::size_t>(r / aligned.block_m)];
  }
  return routes;
}

}  // namespace moe4
