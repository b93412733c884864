// DATA-7 … DATA-10: who is selected.
#include <algorithm>
#include <map>
#include <set>

#include "oracle/generate/store.h"
#include "tests/oracle/case_support.h"

namespace moe4::oracle {
namespace {

std::vector<std::vector<std::int64_t>> ids_of(const std::string& line) {
  const CaseData data = data_of(line);
  std::vector<std::vector<std::int64_t>> ids(static_cast<std::size_t>(data.line->tokens));
  for (std::size_t t = 0; t < ids.size(); ++t) {
    for (std::int64_t j = 0; j < data.line->top_k; ++j) {
      ids[t].push_back(load_id(data.selected_experts, static_cast<std::int64_t>(t) * data.line->top_k + j));
    }
  }
  return ids;
}

std::map<std::int64_t, int> rows_per_expert(const std::vector<std::vector<std::int64_t>>& ids) {
  std::map<std::int64_t, int> rows;
  for (const auto& token : ids) {
    for (const std::int64_t e : token) ++rows[e];
  }
  return rows;
}

bool distinct(const std::vector<std::int64_t>& token) {
  return std::set<std::int64_t>(token.begin(), token.end()).size() == token.size();
}

TEST(Route, UniformIsDistinctAndReachesEveryone) {
  const auto ids = ids_of("tokens=200 experts=9 top_k=3 routing=uniform");
  EXPECT_TRUE(std::all_of(ids.begin(), ids.end(), distinct));
  const auto rows = rows_per_expert(ids);
  EXPECT_EQ(rows.size(), 9u);
  for (const auto& [e, count] : rows) EXPECT_NEAR(count, 600 / 9, 35) << e;
}

TEST(Route, HotHasOneExpertNearlyEverywhere) {
  const auto ids = ids_of("tokens=200 experts=9 top_k=3 routing=hot");
  EXPECT_TRUE(std::all_of(ids.begin(), ids.end(), distinct));
  int most = 0;
  for (const auto& [e, count] : rows_per_expert(ids)) most = std::max(most, count);
  EXPECT_GT(most, 160);
  EXPECT_LT(most, 200);
}

TEST(Route, OneIsOne) {
  EXPECT_EQ(rows_per_expert(ids_of("tokens=20 experts=9 top_k=3 routing=one")).size(), 1u);
}

TEST(Route, EmptyLeavesFirstMiddleAndLast) {
  const auto rows = rows_per_expert(ids_of("tokens=200 experts=9 top_k=3 routing=empty"));
  for (const std::int64_t e : {0, 4, 8}) EXPECT_EQ(rows.count(e), 0u) << e;
  EXPECT_EQ(rows.size(), 6u);
}

TEST(Route, DuplicateRepeatsInEveryToken) {
  for (int top_k = 2; top_k <= 8; ++top_k) {
    const auto ids = ids_of("tokens=50 experts=9 routing=duplicate top_k=" + std::to_string(top_k));
    EXPECT_TRUE(std::none_of(ids.begin(), ids.end(), distinct)) << top_k;
  }
  const auto ids = ids_of("tokens=50 experts=9 routing=duplicate top_k=4");
  const auto apart = [](const auto& token) { return token[0] == token[3] && token[0] != token[2]; };
  EXPECT_TRUE(std::any_of(ids.begin(), ids.end(), apart)) << "no repeat with another expert between";
}

TEST(Route, BoundaryCountsAreTilesPlusMinusOne) {
  const std::set<int> tiles = {7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65};
  const auto counts = rows_per_expert(ids_of("tokens=24 experts=4 top_k=1 routing=boundary"));
  EXPECT_EQ(counts.size(), 3u);
  for (const auto& [e, count] : counts) EXPECT_TRUE(tiles.count(count)) << e << ": " << count;
  const auto ids = ids_of("tokens=360 experts=64 top_k=4 routing=boundary");
  EXPECT_TRUE(std::all_of(ids.begin(), ids.end(), distinct));
  std::set<int> seen;
  for (const auto& [e, count] : rows_per_expert(ids)) seen.insert(count);
  for (const int tile : tiles) EXPECT_TRUE(seen.count(tile)) << tile;
}

TEST(Route, PoisonIsEverythingUnselected) {
  for (Fill fill : all_fills()) {
    Case c = case_of("tokens=3 experts=8 top_k=2 in=64 out=3 routing=poison");
    c.fill = fill;
    const CaseData data = data_of(c);
    std::set<std::int64_t> used;
    for (std::int64_t n = 0; n < 6; ++n) used.insert(load_id(data.selected_experts, n));
    for (std::int64_t e = 0; e < 8; ++e) {
      for (std::int64_t o = 0; o < 3; ++o) {
        for (std::int64_t g = 0; g < 2; ++g) {
          const bool nan = scale_at(data, e, o, g) == 255;
          EXPECT_TRUE(nan || used.count(e) != 0);
          const bool own_nan = fill == Fill::kNonfinite || fill == Fill::kOnehot;
          EXPECT_FALSE(nan && used.count(e) != 0 && !own_nan);
        }
      }
    }
    for (std::int64_t n = 0; n < 6; ++n)
      EXPECT_NE(load_float_bits(data.mixture_weights, n), 0x3F800000u) << "p = 1";
  }
}

TEST(Route, RouteLimitsTheChoice) {
  const CaseData data = data_of("tokens=5 experts=896 top_k=2 in=32 out=1 route=400+800");
  for (std::int64_t t = 0; t < 5; ++t) {
    const std::int64_t a = load_id(data.selected_experts, 2 * t);
    const std::int64_t b = load_id(data.selected_experts, 2 * t + 1);
    EXPECT_TRUE((a == 400 && b == 800) || (a == 800 && b == 400));
  }
}

TEST(Route, AbsentSlotsUnderTheirPolicyOnly) {
  const auto absent = [](const std::vector<std::vector<std::int64_t>>& ids) {
    return rows_per_expert(ids).count(-1) != 0;
  };
  EXPECT_TRUE(absent(ids_of("tokens=50 experts=9 top_k=3 ids=absent")));
  EXPECT_FALSE(absent(ids_of("tokens=50 experts=9 top_k=3")));
  const CaseData data = data_of("tokens=50 experts=9 top_k=3 ids=absent");
  for (std::int64_t n = 0; n < 150; ++n) {
    EXPECT_TRUE(load_id(data.selected_experts, n) >= 0 ||
                load_float_bits(data.mixture_weights, n) == 0x7FC00000u);
  }
}

TEST(Route, IdsOf64Bits) {
  const CaseData narrow = data_of("tokens=9 experts=9 top_k=3");
  const CaseData wide = data_of("tokens=9 experts=9 top_k=3 ids_dtype=i64");
  ASSERT_EQ(wide.selected_experts.dtype(), Dtype::kI64);
  for (std::int64_t n = 0; n < 27; ++n) {
    EXPECT_EQ(load_id(narrow.selected_experts, n), load_id(wide.selected_experts, n));
  }
}

}  // namespace
}  // namespace moe4::oracle
