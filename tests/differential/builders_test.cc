// The aligner, the builders of grouped rows and the expert maps of the reference against their slow twin, on
// drawn routes; and, without the twin, that every expert gets the set of its routes.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include "reference/routing/align_blocks.h"
#include "reference/routing/grouped_rows.h"
#include "reference/routing/routes.h"
#include "tests/support/problems/draw.h"
#include "tests/support/slow_model/builders.h"

namespace differential {
namespace {

using problems::Draw;
using slow_model::Builders;
using slow_model::RouteList;

struct Routing {
  RouteList routes;  // by global ids, some -1
  std::int64_t experts;
  std::int64_t block_m;
  std::int64_t max_m;
  std::int64_t first;  // the experts of one rank
  std::int64_t count;
};

Routing draw_routing(std::uint64_t seed) {
  Draw draw(seed);
  Routing r;
  r.routes.tokens = draw.between(draw.one_in(10) ? 0 : 1, 9);
  r.routes.top_k = draw.between(draw.one_in(10) ? 0 : 1, 4);
  r.experts = draw.pick<std::int64_t>({1, 2, 3, 5, 8, 40});
  r.block_m = draw.pick<std::int64_t>({1, 2, 3, 8, 16, 64});
  r.max_m = draw.between(0, 12);
  r.first = draw.between(0, r.experts - 1);
  r.count = draw.between(0, r.experts - r.first);
  const std::int64_t hot = draw.between(0, r.experts - 1);
  const std::uint64_t mood = draw.below(4);
  for (std::int64_t id = 0; id < r.routes.tokens * r.routes.top_k; ++id) {
    std::int64_t expert = draw.between(0, r.experts - 1);
    if (mood == 0 && !draw.one_in(5)) expert = hot;
    if (mood == 1 && draw.one_in(3)) expert = -1;
    r.routes.expert.push_back(static_cast<std::int32_t>(expert));
  }
  return r;
}

moe4::Routes as_routes(const RouteList& list) { return {list.tokens, list.top_k, list.expert}; }
RouteList as_list(const moe4::Routes& routes) { return {routes.tokens, routes.top_k, routes.expert}; }

slow_model::Placed placed(const moe4::RowMap& map, const std::vector<std::int32_t>& expert_of_row) {
  return {expert_of_row, map.row_of_route};
}

// masked_m as the expert of each row.
std::vector<std::int32_t> experts_of_rows(const moe4::MaskedRows& rows) {
  std::vector<std::int32_t> result;
  for (std::size_t e = 0; e < rows.masked_m.size(); ++e) {
    for (std::int64_t r = 0; r < rows.max_m; ++r) {
      result.push_back(r < rows.masked_m[e] ? static_cast<std::int32_t>(e) : -1);
    }
  }
  return result;
}

// "" or what differs. Never asserts, so that wrong twins can be looked at.
std::string disagreement(const Builders& twin, const Routing& r) {
  const std::vector<std::int32_t> map = moe4::expert_map(r.experts, r.first, r.count);
  if (map != twin.expert_map(r.experts, r.first, r.count)) return "expert_map";
  const moe4::Routes local = moe4::to_local(as_routes(r.routes), map);
  if (local.expert != twin.to_local(r.routes, map).expert) return "to_local";

  for (const auto& [routes, experts] : {std::pair(r.routes, r.experts), std::pair(as_list(local), r.count)}) {
    const moe4::AlignedRoutes aligned = moe4::align_blocks(as_routes(routes), experts, r.block_m);
    if (slow_model::Aligned{aligned.sorted_ids, aligned.expert_ids} !=
        twin.align(routes, experts, r.block_m)) {
      return "align_blocks";
    }
    if (aligned.num_tokens_padded != static_cast<std::int64_t>(aligned.sorted_ids.size())) return "n";
    const moe4::ContiguousRows contiguous = moe4::contiguous_rows(as_routes(routes), experts, r.block_m);
    if (placed(contiguous.map, contiguous.m_indices) != twin.contiguous(routes, experts, r.block_m)) {
      return "contiguous_rows";
    }
    const auto masked = moe4::masked_rows(as_routes(routes), experts, r.max_m);
    const auto expected = twin.masked(routes, experts, r.max_m);
    if (masked.ok() != expected.has_value()) return "masked_rows refuses or not";
    if (expected && placed(masked->map, experts_of_rows(*masked)) != *expected) return "masked_rows";
  }
  const std::int64_t routes = r.routes.tokens * r.routes.top_k;
  if (moe4::aligned_capacity(routes, r.experts, r.block_m) != twin.capacity(routes, r.experts, r.block_m)) {
    return "aligned_capacity";
  }
  return "";
}

constexpr std::uint64_t kRoutings = 2000;

TEST(BuildersTwin, TheReferenceEqualsIt) {
  for (std::uint64_t seed = 0; seed < kRoutings; ++seed) {
    ASSERT_EQ(disagreement(Builders(), draw_routing(seed)), "") << "seed " << seed;
  }
}

// RTE-33, RTE-34 without an order: what an expert computes is the set of its routes, each once; inverses
// undo.
TEST(BuildersTwin, EveryExpertGetsItsRoutes) {
  for (std::uint64_t seed = 0; seed < kRoutings; ++seed) {
    const Routing r = draw_routing(seed);
    const moe4::Routes routes = as_routes(r.routes);
    std::vector<std::multiset<std::int64_t>> due(static_cast<std::size_t>(r.experts));
    for (std::size_t id = 0; id < routes.expert.size(); ++id) {
      if (routes.expert[id] >= 0)
        due[static_cast<std::size_t>(routes.expert[id])].insert(static_cast<std::int64_t>(id));
    }
    const moe4::AlignedRoutes aligned = moe4::align_blocks(routes, r.experts, r.block_m);
    std::vector<std::multiset<std::int64_t>> got(due.size());
    ASSERT_EQ(aligned.sorted_ids.size(), aligned.expert_ids.size() * static_cast<std::size_t>(r.block_m));
    for (std::size_t n = 0; n < aligned.sorted_ids.size(); ++n) {
      const std::int32_t expert = aligned.expert_ids[n / static_cast<std::size_t>(r.block_m)];
      if (aligned.sorted_ids[n] < routes.tokens * routes.top_k) {
        got[static_cast<std::size_t>(expert)].insert(aligned.sorted_ids[n]);
      }
    }
    ASSERT_EQ(got, due) << "seed " << seed;
    ASSERT_LE(aligned.num_tokens_padded,
              moe4::aligned_capacity(routes.tokens * routes.top_k, r.experts, r.block_m));
    ASSERT_EQ(moe4::routes_from(aligned), routes) << "seed " << seed;
    ASSERT_EQ(moe4::routes_from(moe4::with_tail(aligned, aligned.num_tokens_padded + 5, -1, -1)), routes);

    const moe4::ContiguousRows contiguous = moe4::contiguous_rows(routes, r.experts, r.block_m);
    ASSERT_EQ(moe4::routes_from(contiguous, routes.tokens, routes.top_k), routes) << "seed " << seed;
    const auto masked = moe4::masked_rows(routes, r.experts, 36);
    ASSERT_TRUE(masked.ok());
    ASSERT_EQ(moe4::routes_from(*masked, routes.tokens, routes.top_k), routes) << "seed " << seed;
  }
}

// Ranks that share the experts out have every route once between them, and its way back to the global id.
TEST(BuildersTwin, RanksAddUp) {
  for (std::uint64_t seed = 0; seed < kRoutings; ++seed) {
    const Routing r = draw_routing(seed);
    const moe4::Routes global = as_routes(r.routes);
    std::vector<std::int32_t> joined(global.expert.size(), -1);
    for (std::int64_t first = 0; first < r.experts; first += r.max_m + 1) {
      const std::int64_t count = std::min(r.max_m + 1, r.experts - first);
      const std::vector<std::int32_t> map = moe4::expert_map(r.experts, first, count);
      const moe4::Routes back = moe4::to_global(moe4::to_local(global, map), map);
      for (std::size_t id = 0; id < joined.size(); ++id) {
        if (back.expert[id] < 0) continue;
        ASSERT_EQ(joined[id], -1) << "two ranks have route " << id;
        joined[id] = back.expert[id];
      }
    }
    ASSERT_EQ(joined, global.expert) << "seed " << seed;
  }
}

// Wrong twins, each wrong in one step.
struct SentinelIsTokens : Builders {
  std::int64_t sentinel(const RouteList& routes) const override { return routes.tokens; }
};
struct IdsDescend : Builders {
  std::vector<std::int64_t> ids_of(const RouteList& routes, std::int64_t expert) const override {
    std::vector<std::int64_t> ids = Builders::ids_of(routes, expert);
    std::reverse(ids.begin(), ids.end());
    return ids;
  }
};
struct SlotMajorIds : Builders {
  std::vector<std::int64_t> ids_of(const RouteList& routes, std::int64_t expert) const override {
    std::vector<std::int64_t> ids = Builders::ids_of(routes, expert);
    std::stable_sort(ids.begin(), ids.end(),
                     [&](std::int64_t a, std::int64_t b) { return a % routes.top_k < b % routes.top_k; });
    return ids;
  }
};
struct EmptyExpertHasABlock : Builders {
  std::int64_t padded(std::int64_t rows, std::int64_t multiple) const override {
    return Builders::padded(std::max<std::int64_t>(rows, 1), multiple);
  }
};
struct AlwaysPadded : Builders {
  std::int64_t padded(std::int64_t rows, std::int64_t multiple) const override {
    return rows == 0 ? 0 : (rows / multiple + 1) * multiple;
  }
};
struct MapKeepsGlobalIds : Builders {
  std::int32_t local_id(std::int64_t id, std::int64_t first, std::int64_t count) const override {
    return Builders::local_id(id, first, count) < 0 ? -1 : static_cast<std::int32_t>(id);
  }
};
struct MapEndsOneLate : Builders {
  std::int32_t local_id(std::int64_t id, std::int64_t first, std::int64_t count) const override {
    return Builders::local_id(id, first, count + 1);
  }
};
struct CapacityOfAllExperts : Builders {
  std::int64_t capacity(std::int64_t routes, std::int64_t experts, std::int64_t block_m) const override {
    return routes + experts * (block_m - 1);
  }
};

TEST(BuildersTwin, WrongOnesAreTold) {
  const std::pair<const char*, std::shared_ptr<const Builders>> wrong[] = {
      {"SentinelIsTokens", std::make_shared<SentinelIsTokens>()},
      {"IdsDescend", std::make_shared<IdsDescend>()},
      {"SlotMajorIds", std::make_shared<SlotMajorIds>()},
      {"EmptyExpertHasABlock", std::make_shared<EmptyExpertHasABlock>()},
      {"AlwaysPadded", std::make_shared<AlwaysPadded>()},
      {"MapKeepsGlobalIds", std::make_shared<MapKeepsGlobalIds>()},
      {"MapEndsOneLate", std::make_shared<MapEndsOneLate>()},
      {"CapacityOfAllExperts", std::make_shared<CapacityOfAllExperts>()},
  };
  for (const auto& [name, twin] : wrong) {
    bool told = false;
    for (std::uint64_t seed = 0; seed < kRoutings && !told; ++seed) {
      told = !disagreement(*twin, draw_routing(seed)).empty();
    }
    EXPECT_TRUE(told) << name;
  }
}

}  // namespace
}  // namespace differential
