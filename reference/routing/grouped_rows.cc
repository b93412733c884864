#include "reference/routing/grouped_rows.h"

#include <cstring>
#include <string>

namespace moe4 {
namespace {

// The route ids of each expert, ascending.
std::vector<std::vector<std::int64_t>> ids_by_expert(const Routes& routes, std::int64_t experts) {
  std::vector<std::vector<std::int64_t>> ids(static_cast<std::size_t>(experts));
  for (std::size_t id = 0; id < routes.expert.size(); ++id) {
    const std::int32_t expert = routes.expert[id];
    if (expert >= 0) ids[static_cast<std::size_t>(expert)].push_back(static_cast<std::int64_t>(id));
  }
  return ids;
}

void append(RowMap& map, const std::vector<std::int64_t>& ids, std::size_t rows) {
  for (const std::int64_t id : ids) {
    map.row_of_route[static_cast<std::size_t>(id)] = static_cast<std::int64_t>(map.route_of_row.size());
    map.route_of_row.push_back(id);
  }
  map.route_of_row.resize(map.route_of_row.size() + rows - ids.size(), -1);
}

RowMap empty_map(const Routes& routes) { return {std::vector<std::int64_t>(routes.expert.size(), -1), {}}; }

// Copies row `from` of source to row `to` of target, both flat with rows of `bytes` bytes.
void copy_row(const Tensor& source, std::int64_t from, Tensor& target, std::int64_t to, std::size_t bytes) {
  if (bytes == 0) return;
  std::memcpy(target.data() + static_cast<std::size_t>(to) * bytes,
              source.data() + static_cast<std::size_t>(from) * bytes, bytes);
}

}  // namespace

ContiguousRows contiguous_rows(const Routes& routes, std::int64_t experts, std::int64_t alignment) {
  ContiguousRows rows{empty_map(routes), {}};
  const auto ids = ids_by_expert(routes, experts);
  const auto tile = static_cast<std::size_t>(alignment);
  for (std::size_t expert = 0; expert < ids.size(); ++expert) {
    const std::size_t padded = (ids[expert].size() + tile - 1) / tile * tile;
    append(rows.map, ids[expert], padded);
    rows.m_indices.insert(rows.m_indices.end(), ids[expert].size(), static_cast<std::int32_t>(expert));
    rows.m_indices.resize(rows.map.route_of_row.size(), -1);
  }
  return rows;
}

Result<MaskedRows> masked_rows(const Routes& routes, std::int64_t experts, std::int64_t max_m) {
  MaskedRows rows{empty_map(routes), max_m, {}};
  const auto ids = ids_by_expert(routes, experts);
  for (std::size_t expert = 0; expert < ids.size(); ++expert) {
    const std::size_t count = ids[expert].size();
    if (count > static_cast<std::size_t>(max_m)) {
      return Error{"max_m", std::to_string(max_m),
                   "RTE-34: it holds the rows of every expert; expert " + std::to_string(expert) + " has " +
                       std::to_string(count)};
    }
    append(rows.map, ids[expert], static_cast<std::size_t>(max_m));
    rows.masked_m.push_back(static_cast<std::int32_t>(count));
  }
  return rows;
}

Routes routes_from(const ContiguousRows& rows, std::int64_t tokens, std::int64_t top_k) {
  Routes routes{tokens, top_k, std::vector<std::int32_t>(static_cast<std::size_t>(tokens * top_k), -1)};
  for (std::size_t row = 0; row < rows.m_indices.size(); ++row) {
    const std::int64_t route = rows.map.route_of_row[row];
    if (route >= 0) routes.expert[static_cast<std::size_t>(route)] = rows.m_indices[row];
  }
  return routes;
}

Routes routes_from(const MaskedRows& rows, std::int64_t tokens, std::int64_t top_k) {
  Routes routes{tokens, top_k, std::vector<std::int32_t>(static_cast<std::size_t>(tokens * top_k), -1)};
  for (std::size_t expert = 0; expert < rows.masked_m.size(); ++expert) {
    for (std::int64_t r = 0; r < rows.masked_m[expert]; ++r) {
      const std::int64_t row = static_cast<std::int64_t>(expert) * rows.max_m + r;
      const std::int64_t route = rows.map.route_of_row[static_cast<std::size_t>(row)];
      if (route >= 0) routes.expert[static_cast<std::size_t>(route)] = static_cast<std::int32_t>(expert);
    }
  }
  return routes;
}

Tensor gather_rows(const Tensor& tokens, std::int64_t top_k, const RowMap& map) {
  const auto rows = static_cast<std::int64_t>(map.route_of_row.size());
  Tensor gathered(tokens.dtype(), {rows, tokens.dim(1)});
  const std::size_t bytes = static_cast<std::size_t>(tokens.dim(1)) * size_of(tokens.dtype());
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t route = map.route_of_row[static_cast<std::size_t>(row)];
    if (route >= 0) copy_row(tokens, route / top_k, gathered, row, bytes);
  }
  return gathered;
}

Tensor in_route_order(const Tensor& output, const RowMap& map) {
  const auto routes = static_cast<std::int64_t>(map.row_of_route.size());
  const std::int64_t out = output.shape().back();
  Tensor ordered(output.dtype(), {routes, out});
  const std::size_t bytes = static_cast<std::size_t>(out) * size_of(output.dtype());
  for (std::int64_t route = 0; route < routes; ++route) {
    const std::int64_t row = map.row_of_route[static_cast<std::size_t>(route)];
    if (row >= 0) copy_row(output, row, ordered, route, bytes);
  }
  return ordered;
}

}  // namespace moe4
