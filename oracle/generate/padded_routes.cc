#include "oracle/generate/padded_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "oracle/generate/random.h"
#include "reference/routing/align_blocks.h"
#include "reference/routing/grouped_rows.h"

namespace moe4::oracle {
namespace {

constexpr std::int32_t kPoison = std::numeric_limits<std::int32_t>::max();

// A block of rows of one expert: at most block_m routes, then padding.
struct Block {
  std::int32_t expert = 0;
  std::vector<std::int64_t> routes;
};

std::vector<std::vector<std::int64_t>> routes_by_expert(const Routes& routes, std::int64_t experts) {
  std::vector<std::vector<std::int64_t>> lists(static_cast<std::size_t>(experts));
  for (std::size_t id = 0; id < routes.expert.size(); ++id) {
    if (routes.expert[id] >= 0) {
      lists[static_cast<std::size_t>(routes.expert[id])].push_back(static_cast<std::int64_t>(id));
    }
  }
  return lists;
}

// DATA-45, sentinel: blocks that are less full than they could be, and blocks of nothing.
std::vector<Block> loose_blocks(const Case& c, const Routes& routes) {
  const Key key = Key::from_seed(c.seed)(0)(5);
  std::vector<Block> blocks;
  const auto lists = routes_by_expert(routes, c.local_experts());
  for (std::size_t e = 0; e < lists.size(); ++e) {
    const auto expert = static_cast<std::int32_t>(e);
    const Key draw = key(c.first_expert() + expert);
    for (std::size_t next = 0; next < lists[e].size();) {
      const Key of_block = draw(static_cast<std::int64_t>(next));
      if (of_block.bits(0, 2) == 0) blocks.push_back({expert, {}});
      const auto room = static_cast<std::size_t>(1 + of_block(0).pick(c.block_rows()));
      const std::size_t end = std::min(lists[e].size(), next + room);
      blocks.push_back({expert,
                        {lists[e].begin() + static_cast<std::ptrdiff_t>(next),
                         lists[e].begin() + static_cast<std::ptrdiff_t>(end)}});
      next = end;
    }
  }
  return blocks;
}

// DATA-45, unsorted: the ids of an expert, which stand one after another, in the order of words of their own.
void shuffle_ids(const Case& c, AlignedRoutes& aligned) {
  const Key key = Key::from_seed(c.seed)(0)(7);
  const std::int64_t rows = aligned.tokens * aligned.top_k;
  std::map<std::int32_t, std::vector<std::size_t>> places;  // of each expert's ids, ascending
  for (std::size_t at = 0; at < aligned.sorted_ids.size(); ++at) {
    if (aligned.sorted_ids[at] >= rows) continue;
    places[aligned.expert_ids[at / static_cast<std::size_t>(aligned.block_m)]].push_back(at);
  }
  for (const auto& [expert, own] : places) {
    std::vector<std::int32_t> ids;
    for (const std::size_t at : own) ids.push_back(aligned.sorted_ids[at]);
    std::stable_sort(ids.begin(), ids.end(),
                     [&](std::int32_t a, std::int32_t b) { return key(a).word() < key(b).word(); });
    for (std::size_t n = 0; n < own.size(); ++n) aligned.sorted_ids[own[n]] = ids[n];
  }
}

AlignedRoutes aligned_of(const Case& c, const Routes& routes) {
  if (c.routing != Routing::kSentinel) {
    AlignedRoutes aligned = align_blocks(routes, c.local_experts(), c.block_rows());
    if (c.routing == Routing::kUnsorted) shuffle_ids(c, aligned);
    return aligned;
  }
  const Key key = Key::from_seed(c.seed)(0)(6);
  const std::int64_t rows = routes.tokens * routes.top_k;
  AlignedRoutes aligned{routes.tokens, routes.top_k, c.block_rows(), {}, {}, 0};
  for (const Block& block : loose_blocks(c, routes)) {
    aligned.expert_ids.push_back(block.expert);
    for (std::int64_t r = 0; r < c.block_rows(); ++r) {
      const auto at = static_cast<std::size_t>(r);
      const auto position = static_cast<std::int64_t>(aligned.sorted_ids.size());
      // RTE-5: a sentinel is any id from M·top_k on.
      const std::int64_t sentinel =
          key(position).bits(0, 1) == 0 ? rows : rows + key(position)(0).pick(kPoison - rows + 1);
      aligned.sorted_ids.push_back(
          static_cast<std::int32_t>(at < block.routes.size() ? block.routes[at] : sentinel));
    }
  }
  aligned.num_tokens_padded = static_cast<std::int32_t>(aligned.sorted_ids.size());
  return aligned;
}

Tensor tensor_of(const std::vector<std::int32_t>& values) {
  Tensor tensor(Dtype::kI32, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.as<std::int32_t>().begin());
  return tensor;
}

Error no_room(const char* key, std::int64_t value, std::int64_t needed) {
  return {key, std::to_string(value), fmt::format("DATA-44: the routes of this case need {}", needed)};
}

}  // namespace

Status write_indexed(const Case& c, const Routes& routes, CaseData& data) {
  AlignedRoutes aligned = aligned_of(c, routes);
  const std::int64_t active = aligned.num_tokens_padded;
  const std::int64_t rows = routes.tokens * routes.top_k;
  const std::int64_t usual = std::max(active, aligned_capacity(rows, c.local_experts(), c.block_rows()));
  const std::int64_t capacity = c.capacity.value_or(usual);
  if (capacity < active) return no_room("capacity", capacity, active);
  if (capacity > kPoison) return no_room("capacity", capacity, kPoison);

  // DATA-45: the tail names rows that exist, of an expert that does not.
  std::vector<std::int32_t> ids = aligned.sorted_ids;
  for (std::int64_t n = active; n < capacity; ++n) {
    ids.push_back(rows == 0 ? 0 : static_cast<std::int32_t>((n - active) % rows));
  }
  std::vector<std::int32_t> experts = aligned.expert_ids;
  experts.resize(static_cast<std::size_t>((capacity + c.block_rows() - 1) / c.block_rows()), kPoison);
  data.sorted_ids = tensor_of(ids);
  data.expert_ids = tensor_of(experts);
  data.num_tokens_padded = Tensor(Dtype::kI32, {});
  data.num_tokens_padded.as<std::int32_t>()[0] = aligned.num_tokens_padded;
  data.top_k = c.top_k;
  data.block_m = c.block_rows();
  return {};
}

Result<RowsOfRoutes> write_contiguous(const Case& c, const Routes& routes, CaseData& data) {
  std::vector<std::int32_t> indices;
  RowsOfRoutes rows;
  if (c.routing == Routing::kSentinel) {
    for (const Block& block : loose_blocks(c, routes)) {
      for (std::int64_t r = 0; r < c.block_rows(); ++r) {
        const bool used = r < static_cast<std::int64_t>(block.routes.size());
        indices.push_back(used ? block.expert : -1);
        rows.route_of_row.push_back(used ? block.routes[static_cast<std::size_t>(r)] : -1);
      }
    }
  } else {
    ContiguousRows built = contiguous_rows(routes, c.local_experts(), c.block_rows());
    indices = std::move(built.m_indices);
    rows.route_of_row = std::move(built.map.route_of_row);
  }
  const auto needed = static_cast<std::int64_t>(indices.size());
  const std::int64_t capacity = c.capacity.value_or(needed);
  if (capacity < needed) return no_room("capacity", capacity, needed);
  indices.resize(static_cast<std::size_t>(capacity), -1);
  rows.route_of_row.resize(static_cast<std::size_t>(capacity), -1);
  data.m_indices = tensor_of(indices);
  return rows;
}

Result<RowsOfRoutes> write_masked(const Case& c, const Routes& routes, CaseData& data) {
  std::int64_t largest = 0;
  for (const auto& list : routes_by_expert(routes, c.local_experts())) {
    largest = std::max(largest, static_cast<std::int64_t>(list.size()));
  }
  // DATA-46: whole tiles of every height (RTE-27).
  const std::int64_t max_m = c.max_m.value_or(std::max<std::int64_t>((largest + 127) / 128 * 128, 128));
  if (max_m < largest) return no_room("max_m", max_m, largest);
  Result<MaskedRows> built = masked_rows(routes, c.local_experts(), max_m);
  if (!built.ok()) return built.error();
  data.masked_m = tensor_of(built->masked_m);
  const auto live = std::count_if(routes.expert.begin(), routes.expert.end(), [](auto e) { return e >= 0; });
  const std::int64_t experts = std::max<std::int64_t>(c.local_experts(), 1);
  data.expected_m = c.expected_m.value_or(std::max<std::int64_t>((live + experts - 1) / experts, 1));
  return RowsOfRoutes{std::move(built->map.route_of_row)};
}

}  // namespace moe4::oracle
