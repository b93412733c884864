#include <numeric>

#include "reference/accumulate/order.h"

namespace moe4 {
namespace {

using Chain = std::vector<std::int32_t>;

Chain range(std::int64_t begin, std::int64_t end) {
  Chain chain(static_cast<std::size_t>(end - begin));
  std::iota(chain.begin(), chain.end(), static_cast<std::int32_t>(begin));
  return chain;
}

// Chains 1, 2, … added to chain 0, one after the other.
void join_in_order(ChainPlan& plan) {
  for (std::size_t c = 1; c < plan.chains.size(); ++c)
    plan.joins.emplace_back(0, static_cast<std::int32_t>(c));
}

// BND-3. Lane 0's view of the xor shuffle: at each step every lane adds the lane `half` further on, halves
// L/2 … 1. Lanes without an index hold an exact zero; they are the last ones, so a join whose `from` is one
// of them adds nothing.
void join_by_halving(ChainPlan& plan, std::int64_t lanes) {
  const std::int64_t used = static_cast<std::int64_t>(plan.chains.size());
  for (std::int64_t half = lanes / 2; half >= 1; half /= 2) {
    for (std::int64_t lane = 0; lane < half && lane + half < used; ++lane) {
      plan.joins.emplace_back(static_cast<std::int32_t>(lane), static_cast<std::int32_t>(lane + half));
    }
  }
}

}  // namespace

ChainPlan plan_chains(const Order& order, std::int64_t in) {
  ChainPlan plan;
  switch (order.kind) {
    case Order::Kind::kAny:
    case Order::Kind::kSeq:
      plan.chains.push_back(range(0, in));
      break;
    case Order::Kind::kGroups:
      for (std::int64_t begin = 0; begin < in; begin += order.a) {
        plan.chains.push_back(range(begin, std::min(in, begin + order.a)));
      }
      join_in_order(plan);
      break;
    case Order::Kind::kLanes: {
      const std::int64_t spans = (in + order.b - 1) / order.b;
      plan.chains.resize(static_cast<std::size_t>(std::min(order.a, spans)));
      for (std::int64_t i = 0; i < in; ++i) {
        plan.chains[static_cast<std::size_t>((i / order.b) % order.a)].push_back(
            static_cast<std::int32_t>(i));
      }
      if (order.join == Order::Join::kShfl) {
        join_by_halving(plan, order.a);
      } else {
        join_in_order(plan);
      }
      break;
    }
  }
  return plan;
}

}  // namespace moe4
