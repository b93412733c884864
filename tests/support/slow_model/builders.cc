#include "tests/support/slow_model/builders.h"

namespace slow_model {
namespace {

std::size_t index(std::int64_t n) { return static_cast<std::size_t>(n); }

}  // namespace

std::int32_t Builders::local_id(std::int64_t id, std::int64_t first, std::int64_t count) const {
  return first <= id && id < first + count ? static_cast<std::int32_t>(id - first) : -1;
}

std::vector<std::int32_t> Builders::expert_map(std::int64_t experts, std::int64_t first,
                                               std::int64_t count) const {
  std::vector<std::int32_t> map;
  for (std::int64_t id = 0; id < experts; ++id) map.push_back(local_id(id, first, count));
  return map;
}

RouteList Builders::to_local(const RouteList& global, const std::vector<std::int32_t>& map) const {
  RouteList local = global;
  for (std::int32_t& expert : local.expert) {
    if (expert != -1) expert = map[index(expert)];
  }
  return local;
}

std::vector<std::int64_t> Builders::ids_of(const RouteList& routes, std::int64_t expert) const {
  std::vector<std::int64_t> ids;
  for (std::int64_t token = 0; token < routes.tokens; ++token) {
    for (std::int64_t slot = 0; slot < routes.top_k; ++slot) {
      const std::int64_t id = token * routes.top_k + slot;
      if (routes.expert[index(id)] == expert) ids.push_back(id);
    }
  }
  return ids;
}

std::int64_t Builders::padded(std::int64_t rows, std::int64_t multiple) const {
  while (rows % multiple != 0) ++rows;
  return rows;
}

std::int64_t Builders::sentinel(const RouteList& routes) const { return routes.tokens * routes.top_k; }

Aligned Builders::align(const RouteList& routes, std::int64_t experts, std::int64_t block_m) const {
  Aligned result;
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    const std::vector<std::int64_t> ids = ids_of(routes, expert);
    const std::int64_t places = padded(static_cast<std::int64_t>(ids.size()), block_m);
    for (std::int64_t n = 0; n < places; ++n) {
      const std::int64_t id = index(n) < ids.size() ? ids[index(n)] : sentinel(routes);
      result.sorted_ids.push_back(static_cast<std::int32_t>(id));
      if (n % block_m == 0) result.expert_ids.push_back(static_cast<std::int32_t>(expert));
    }
  }
  return result;
}

std::int64_t Builders::capacity(std::int64_t routes, std::int64_t experts, std::int64_t block_m) const {
  return routes < experts ? routes * block_m : routes + experts * (block_m - 1);
}

Placed Builders::contiguous(const RouteList& routes, std::int64_t experts, std::int64_t alignment) const {
  Placed result;
  result.row_of.assign(routes.expert.size(), -1);
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    const std::vector<std::int64_t> ids = ids_of(routes, expert);
    const std::int64_t places = padded(static_cast<std::int64_t>(ids.size()), alignment);
    for (std::int64_t n = 0; n < places; ++n) {
      const bool row = index(n) < ids.size();
      if (row) result.row_of[index(ids[index(n)])] = static_cast<std::int64_t>(result.expert_of_row.size());
      result.expert_of_row.push_back(row ? static_cast<std::int32_t>(expert) : -1);
    }
  }
  return result;
}

std::optional<Placed> Builders::masked(const RouteList& routes, std::int64_t experts,
                                       std::int64_t max_m) const {
  Placed result;
  result.row_of.assign(routes.expert.size(), -1);
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    const std::vector<std::int64_t> ids = ids_of(routes, expert);
    if (static_cast<std::int64_t>(ids.size()) > max_m) return {};
    for (std::int64_t n = 0; n < max_m; ++n) {
      const bool row = index(n) < ids.size();
      if (row) result.row_of[index(ids[index(n)])] = expert * max_m + n;
      result.expert_of_row.push_back(row ? static_cast<std::int32_t>(expert) : -1);
    }
  }
  return result;
}

}  // namespace slow_model
