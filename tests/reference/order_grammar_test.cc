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
  for (const char* text : {"any", "seq", "groups(1)", "groups(32)", "lanes(32,8)+shfl", "lanes(3,1)+seq",
                           "lanes(4096,1073741824)+seq", "lanes(1,1)+shfl"}) {
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
                           "lanes(32,8)+shfl+seq"}) {
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

// Whatever the order and the width: every index once, every chain reaches chain 0 once.
TEST(OrderChains, EveryIndexAndEveryChainCountOnce) {
  for (const char* text : {"seq", "groups(1)", "groups(32)", "groups(7)", "groups(4096)", "lanes(32,8)+shfl",
                           "lanes(32,8)+seq", "lanes(5,3)+seq", "lanes(1,4)+shfl", "lanes(256,1)+shfl"}) {
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
