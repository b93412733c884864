#include <algorithm>
#include <numeric>

#include "reference/accumulate/order.h"
#include "reference/formats/packed_codes.h"

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

// Chain l of `count` has the i with (i / span) % count == l; chains without an index are dropped.
void deal_out(ChainPlan& plan, std::int64_t in, std::int64_t count, std::int64_t span) {
  const std::int64_t spans = (in + span - 1) / span;
  plan.chains.resize(static_cast<std::size_t>(std::min(count, spans)));
  for (std::int64_t i = 0; i < in; ++i) {
    plan.chains[static_cast<std::size_t>((i / span) % count)].push_back(static_cast<std::int32_t>(i));
  }
}

// The chains and joins of one slice, or of an order without slices, for columns 0..in-1.
ChainPlan plan_one(const Order& order, std::int64_t in) {
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
    case Order::Kind::kLanes:
      deal_out(plan, in, order.a, order.b);
      if (order.join == Order::Join::kShfl) {
        join_by_halving(plan, order.a);
      } else {
        join_in_order(plan);
      }
      break;
    case Order::Kind::kWarps:
      deal_out(plan, in, order.b, order.a);
      join_by_halving(plan, order.b);
      break;
  }
  return plan;
}

}  // namespace

std::vector<Slice> equal_slices(std::int64_t in, std::int64_t count) {
  const std::int64_t groups = in / kGroupSize;
  std::vector<Slice> slices;
  for (std::int64_t k = 0; k < count; ++k) {
    const Slice slice = {k * groups / count * kGroupSize, (k + 1) * groups / count * kGroupSize};
    if (slice.begin < slice.end) slices.push_back(slice);
  }
  return slices;
}

ChainPlan plan_slices(const Order& order, std::span<const Slice> slices) {
  ChainPlan plan;
  std::vector<std::int32_t> results;  // the accumulator of each slice
  for (const Slice& slice : slices) {
    const auto first = static_cast<std::int32_t>(plan.chains.size());
    ChainPlan part = plan_one(order, slice.end - slice.begin);
    for (Chain& chain : part.chains) {
      for (std::int32_t& i : chain) i += static_cast<std::int32_t>(slice.begin);
      plan.chains.push_back(std::move(chain));
    }
    for (const auto& [into, from] : part.joins) plan.joins.emplace_back(first + into, first + from);
    results.push_back(first);
  }
  if (order.slicing == Order::Slicing::kStreamK) {
    plan.partials.assign(results.rbegin(), results.rend());  // PRO-17: from the last to the first
  } else {
    for (std::size_t k = 1; k < results.size(); ++k) plan.joins.emplace_back(0, results[k]);
  }
  return plan;
}

ChainPlan plan_chains(const Order& order, std::int64_t in) {
  if (order.slicing == Order::Slicing::kNone) return plan_one(order, in);
  return plan_slices(order, equal_slices(in, order.slices));  // PRO-15
}

}  // namespace moe4
