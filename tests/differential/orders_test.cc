// Orders of summation: the chains and joins that the reference plans, and the cut of stream-K launches,
// against the slow model. Both plans are carried out on names instead of numbers, so that equal means: the
// same additions of the same accumulators, in the same order.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "reference/accumulate/order.h"
#include "reference/accumulate/stream_k.h"
#include "tests/differential/draw_arithmetic.h"

namespace differential {
namespace {

using namespace slow_model;
using problems::Draw;

template <class Chain>
std::string name(const Chain& chain) {
  std::string text;
  for (const auto i : chain) text += std::to_string(i) + " ";
  return text;
}

std::string joined(const std::string& into, const std::string& from) {
  if (into.empty() || from.empty()) return into + from;
  return "(" + into + "+ " + from + ")";
}

// The sum; under streamk the sums of the slices, the last one first.
std::vector<std::string> by_reference(const moe4::Order& order, std::int64_t in) {
  const moe4::ChainPlan plan = moe4::plan_chains(order, in);
  std::vector<std::string> held;
  for (const auto& chain : plan.chains) held.push_back(name(chain));
  for (const auto& [into, from] : plan.joins) {
    const auto a = static_cast<std::size_t>(into);
    const auto b = static_cast<std::size_t>(from);
    if (a >= held.size() || b >= held.size()) held.resize(std::max(a, b) + 1);
    held[a] = joined(held[a], held[b]);
  }
  if (plan.partials.empty()) return {held.front()};
  std::vector<std::string> result;
  for (const std::int32_t chain : plan.partials) result.push_back(held[static_cast<std::size_t>(chain)]);
  return result;
}

std::vector<std::string> by_slow_model(const SumOrder& order, std::int64_t in) {
  std::vector<std::string> slices;
  for (const Accumulators& slice : plan_of(order, in)) {
    std::vector<std::string> held;
    for (const auto& chain : slice.chains) held.push_back(name(chain));
    for (const auto& [into, from] : slice.joins) held[into] = joined(held[into], held[from]);
    slices.push_back(held.front());
  }
  if (order.slices == SumOrder::Slices::kStreamK) return {slices.rbegin(), slices.rend()};
  std::string sum = slices.front();
  for (std::size_t n = 1; n < slices.size(); ++n) sum = joined(sum, slices[n]);
  return {sum};
}

TEST(OrdersTwin, TheSameChainsAndJoins) {
  std::set<std::string> words;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Draw draw(seed);
    const SumOrder order = draw_order(draw);
    const std::int64_t in = 32 * draw.between(1, 9);
    const auto parsed = moe4::parse_order(text_of(order));
    ASSERT_TRUE(parsed.ok()) << text_of(order) << ": " << parsed.error().message();
    ASSERT_EQ(moe4::to_string(*parsed), text_of(order));
    ASSERT_EQ(by_reference(*parsed, in), by_slow_model(order, in)) << text_of(order) << " at width " << in;
    words.insert(text_of(order));
  }
  EXPECT_GT(words.size(), 300u);
}

// The comparison tells orders apart.
TEST(OrdersTwin, OtherOrdersAreTold) {
  const auto reference = [](const char* word) { return by_reference(*moe4::parse_order(word), 256); };
  const auto slow = [](SumOrder::Chains chains, std::int64_t a, std::int64_t b) {
    return by_slow_model({chains, a, b}, 256);
  };
  EXPECT_EQ(reference("warps(64,4)+tree"), slow(SumOrder::Chains::kWarpsTree, 64, 4));
  EXPECT_NE(reference("warps(64,4)+tree"), slow(SumOrder::Chains::kWarpsTree, 32, 4));
  EXPECT_NE(reference("lanes(4,64)+seq"), slow(SumOrder::Chains::kLanesShfl, 4, 64));
  EXPECT_NE(reference("seq"), slow(SumOrder::Chains::kGroups, 32, 0));
  EXPECT_NE(reference("split(2)"), reference("streamk(2)"));
}

// PRO-14.
TEST(OrdersTwin, TheCutOfStreamK) {
  int cut = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Draw draw(seed);
    moe4::StreamKLaunch launch;
    launch.blocks = draw.pick<std::int64_t>({1, 2, 7, 10, 11, 20, 132});
    launch.row_blocks = draw.between(1, 12);
    launch.column_blocks = draw.between(1, 30);
    launch.steps = draw.between(1, 40);
    const auto expected = streamk_slices(launch.blocks, launch.tiles(), launch.steps);
    for (std::int64_t tile = 0; tile < launch.tiles(); ++tile) {
      const std::vector<moe4::Slice> slices = moe4::stream_k_slices(launch, tile);
      std::vector<Steps> got;
      for (const moe4::Slice& slice : slices) got.emplace_back(slice.begin, slice.end);
      ASSERT_EQ(got, expected[static_cast<std::size_t>(tile)])
          << launch.blocks << " blocks, tile " << tile << " of " << launch.tiles() << ", " << launch.steps
          << " steps";
      cut += got.size() > 1 ? 1 : 0;
    }
  }
  EXPECT_GT(cut, 10000);
}

}  // namespace
}  // namespace differential
