// BND-2 and BND-3: the words of an order, its chains and joins.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "reference/accumulate/order.h"

namespace moe4 {
namespace {

using Joins = std::vector<std::pair<std::int32_t, std::int32_t>>;
using Chains = std::vector<std::vector<std::int32_t>>;

Order order(std::string_view text) {
  const Result<Order> parsed = parse_order(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed.ok() ? parsed.value() : Order{};
}

TEST(OrderGrammar, PrintsWhatItReads) {
  for (const char* text :
       {"any", "seq", "groups(1)", "groups(32)", "lanes(32,8)+shfl", "lanes(3,1)+seq",
        "lanes(4096,1073741824)+seq", "lanes(1,1)+shfl", "warps(64,4)+tree", "warps(1,64)+tree", "split(1)",
        "split(4096)", "streamk(3)", "split(7)*groups(32)", "split(2)*lanes(32,8)+shfl",
        "streamk(2)*lanes(3,1)+seq", "streamk(2)*warps(64,4)+tree"}) {
    EXPECT_EQ(to_string(order(text)), text);
  }
}

TEST(OrderGrammar, RefusesEverythingElse) {
  for (const char* text : {"",
                           "Seq",
                           " seq",
                           "seq ",
                           "groups",
                           "groups()",
                           "groups(0)",
                           "groups(-1)",
                           "groups(032)",
                           "groups(32",
                           "groups(32)x",
                           "groups(1073741825)",
                           "groups(99999999999999999999)",
                           "lanes(32,8)",
                           "lanes(32,8)+tree",
                           "lanes(32)+shfl",
                           "lanes(24,8)+shfl",
                           "lanes(0,8)+seq",
                           "lanes(4097,1)+seq",
                           "lanes(8192,1)+shfl",
                           "lanes(32, 8)+shfl",
                           "lanes(32,8)+shfl+seq",
                           "warps(64,4)",
                           "warps(64,4)+shfl",
                           "warps(64,3)+tree",
                           "warps(64,128)+tree",
                           "warps(0,4)+tree",
                           "warps(64,4)+tree*split(2)",
                           "split(0)",
                           "split(4097)",
                           "split(2",
                           "split(2)+seq",
                           "split(2)*",
                           "split(2)*any",
                           "split(2)*seq",
                           "split(2)*split(2)",
                           "split(2)*streamk(2)",
                           "streamk(2)*warps(64,4)",
                           "streamk(2) *warps(64,4)+tree",
                           "*seq"}) {
    const Result<Order> parsed = parse_order(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().field, "order");
    EXPECT_TRUE(parsed.error().rule.starts_with("BND-2")) << parsed.error().message();
  }
}

TEST(OrderChains, SeqIsOneChain) {
  const ChainPlan plan = plan_chains(order("seq"), 4);
  EXPECT_EQ(plan.chains, (Chains{{0, 1, 2, 3}}));
  EXPECT_TRUE(plan.joins.empty());
}

TEST(OrderChains, GroupsAreAddedInOrder) {
  const ChainPlan plan = plan_chains(order("groups(3)"), 8);
  EXPECT_EQ(plan.chains, (Chains{{0, 1, 2}, {3, 4, 5}, {6, 7}}));
  EXPECT_EQ(plan.joins, (Joins{{0, 1}, {0, 2}}));
}

TEST(OrderChains, LanesTakeTurns) {
  const ChainPlan plan = plan_chains(order("lanes(2,2)+seq"), 10);
  EXPECT_EQ(plan.chains, (Chains{{0, 1, 4, 5, 8, 9}, {2, 3, 6, 7}}));
  EXPECT_EQ(plan.joins, (Joins{{0, 1}}));
}

TEST(OrderChains, ShuffleHalves) {
  const ChainPlan plan = plan_chains(order("lanes(8,1)+shfl"), 32);
  EXPECT_EQ(plan.joins, (Joins{{0, 4}, {1, 5}, {2, 6}, {3, 7}, {0, 2}, {1, 3}, {0, 1}}));
}

// 3 of 8 lanes have an index: lane 2 meets lane 0 in the second step, lane 1 in the third.
TEST(OrderChains, LanesWithoutIndexAreLeftOut) {
  const ChainPlan plan = plan_chains(order("lanes(8,32)+shfl"), 96);
  EXPECT_EQ(plan.chains.size(), 3U);
  EXPECT_EQ(plan.joins, (Joins{{0, 2}, {0, 1}}));
}

// Two warps of 64 columns: slabs in turn. Four warps: (w0+w2)+(w1+w3).
TEST(OrderChains, WarpsTakeSlabsInTurn) {
  const ChainPlan two = plan_chains(order("warps(2,2)+tree"), 8);
  EXPECT_EQ(two.chains, (Chains{{0, 1, 4, 5}, {2, 3, 6, 7}}));
  EXPECT_EQ(two.joins, (Joins{{0, 1}}));
  const ChainPlan four = plan_chains(order("warps(64,4)+tree"), 256);
  EXPECT_EQ(four.chains[3].front(), 192);
  EXPECT_EQ(four.joins, (Joins{{0, 2}, {1, 3}, {0, 1}}));
  const ChainPlan lanes = plan_chains(order("lanes(4,64)+shfl"), 1024);
  const ChainPlan warps = plan_chains(order("warps(64,4)+tree"), 1024);
  EXPECT_EQ(warps.chains, lanes.chains);
  EXPECT_EQ(warps.joins, lanes.joins);
}

// 7 groups in 3 slices: 2, 2, 3. More slices than groups: one a group.
TEST(OrderChains, SlicesAreWholeGroups) {
  EXPECT_EQ(equal_slices(224, 3), (std::vector<Slice>{{0, 64}, {64, 128}, {128, 224}}));
  EXPECT_EQ(equal_slices(64, 5), (std::vector<Slice>{{0, 32}, {32, 64}}));
  const ChainPlan plan = plan_chains(order("split(3)"), 224);
  EXPECT_EQ(plan.chains.size(), 3U);
  EXPECT_EQ(plan.chains[2].front(), 128);
  EXPECT_EQ(plan.joins, (Joins{{0, 1}, {0, 2}}));
  EXPECT_TRUE(plan.partials.empty());
}

TEST(OrderChains, StreamKKeepsItsSlicesApart) {
  const ChainPlan plan = plan_chains(order("streamk(3)"), 96);
  EXPECT_EQ(plan.chains.size(), 3U);
  EXPECT_TRUE(plan.joins.empty());
  EXPECT_EQ(plan.partials, (std::vector<std::int32_t>{2, 1, 0}));
}

// Inside a slice the columns count from its beginning, and the joins stay inside.
TEST(OrderChains, SlicesOfWarps) {
  const ChainPlan split = plan_chains(order("split(2)*warps(16,2)+tree"), 96);
  EXPECT_EQ(split.chains[0],
            (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(split.chains[2].front(), 32);
  EXPECT_EQ(split.chains[2][16], 64);
  EXPECT_EQ(split.chains[3].front(), 48);
  EXPECT_EQ(split.joins, (Joins{{0, 1}, {2, 3}, {0, 2}}));
  const ChainPlan streamed = plan_chains(order("streamk(2)*warps(16,2)+tree"), 96);
  EXPECT_EQ(streamed.chains, split.chains);
  EXPECT_EQ(streamed.joins, (Joins{{0, 1}, {2, 3}}));
  EXPECT_EQ(streamed.partials, (std::vector<std::int32_t>{2, 0}));
}

TEST(OrderChains, SlicesCanBeGiven) {
  const ChainPlan plan = plan_slices(order("streamk(2)"), std::vector<Slice>{{0, 64}, {64, 72}, {72, 96}});
  EXPECT_EQ(plan.chains[1], (std::vector<std::int32_t>{64, 65, 66, 67, 68, 69, 70, 71}));
  EXPECT_EQ(plan.partials, (std::vector<std::int32_t>{2, 1, 0}));
}

// Whatever the order and the width: every index once, every chain reaches chain 0 once.
TEST(OrderChains, EveryIndexAndEveryChainCountOnce) {
  for (const char* text :
       {"seq", "groups(1)", "groups(32)", "groups(7)", "groups(4096)", "lanes(32,8)+shfl", "lanes(32,8)+seq",
        "lanes(5,3)+seq", "lanes(1,4)+shfl", "lanes(256,1)+shfl", "warps(64,4)+tree", "warps(1,64)+tree",
        "split(7)", "split(5)*groups(24)", "split(3)*warps(64,2)+tree"}) {
    for (const std::int64_t in : {32, 64, 96, 160, 1024, 3072}) {
      const ChainPlan plan = plan_chains(order(text), in);
      std::vector<int> seen(static_cast<std::size_t>(in), 0);
      for (const auto& chain : plan.chains) {
        EXPECT_FALSE(chain.empty());
        for (const std::int32_t i : chain) ++seen[static_cast<std::size_t>(i)];
      }
      EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), in) << text;
      std::vector<std::int64_t> held(plan.chains.size(), 1);
      for (const auto& [into, from] : plan.joins) {
        held[static_cast<std::size_t>(into)] += held[static_cast<std::size_t>(from)];
        held[static_cast<std::size_t>(from)] = 0;
      }
      EXPECT_EQ(held[0], static_cast<std::int64_t>(plan.chains.size())) << text << " at " << in;
    }
  }
}

}  // namespace
}  // namespace moe4
