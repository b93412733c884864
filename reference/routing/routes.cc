#include "reference/routing/routes.h"

#include <algorithm>

#include "reference/formats/elements.h"

namespace moe4 {
namespace {

Routes translate(Routes routes, std::span<const std::int32_t> table) {
  for (std::int32_t& expert : routes.expert) {
    if (expert >= 0) expert = table[static_cast<std::size_t>(expert)];
  }
  return routes;
}

}  // namespace

Routes routes_from(const TensorView& selected_experts, std::int64_t experts) {
  Routes routes{selected_experts.dim(0), selected_experts.dim(1), {}};
  const Elements<2> ids(selected_experts);
  for (std::int64_t t = 0; t < routes.tokens; ++t) {
    for (std::int64_t j = 0; j < routes.top_k; ++j) {
      const std::int64_t id = ids.integer({t, j});
      routes.expert.push_back(id >= 0 && id < experts ? static_cast<std::int32_t>(id) : -1);
    }
  }
  return routes;
}

std::vector<std::int32_t> expert_map(std::int64_t experts, std::int64_t first, std::int64_t count) {
  std::vector<std::int32_t> map;
  for (std::int64_t id = 0; id < experts; ++id) {
    const bool local = id >= first && id < first + count;
    map.push_back(local ? static_cast<std::int32_t>(id - first) : -1);
  }
  return map;
}

std::vector<std::int32_t> global_ids(std::span<const std::int32_t> map) {
  std::vector<std::int32_t> ids(map.size() -
                                static_cast<std::size_t>(std::count(map.begin(), map.end(), -1)));
  for (std::size_t global = 0; global < map.size(); ++global) {
    if (map[global] >= 0) ids[static_cast<std::size_t>(map[global])] = static_cast<std::int32_t>(global);
  }
  return ids;
}

Routes to_local(const Routes& global, std::span<const std::int32_t> map) { return translate(global, map); }

Routes to_global(const Routes& local, std::span<const std::int32_t> map) {
  return translate(local, global_ids(map));
}

}  // namespace moe4
