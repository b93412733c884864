// The order in which a kernel adds its products over i: chains and the tree that joins them.
//
// A chain is the list of indices that one accumulator sums, in order, starting from +0. The joins then add
// whole accumulators. An order gives the error bound (reference/bound), the model's evaluation and the
// healthy controls alike. Grammar and meaning: docs/spec/bounds.md, BND rules.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/status.h"

namespace moe4 {

// A parsed order, not yet bound to a width I. The words:
//   any                 nothing is declared: the bound of any tree over the products
//   seq                 one chain, i = 0, 1, ..., I-1
//   groups(B)           one chain per block of B consecutive i; the block sums are added to a running sum, in
//   order lanes(L,V)+shfl     lane l of L sums the i with (i / V) % L == l, in order; joined by a halving
//   (xor shuffle) tree lanes(L,V)+seq      the same chains, added in lane order to lane 0
struct Order {
  enum class Kind { kAny, kSeq, kGroups, kLanes };
  enum class Join { kNone, kSeq, kShfl };
  Kind kind = Kind::kAny;
  Join join = Join::kNone;
  std::int64_t a = 0;  // B or L
  std::int64_t b = 0;  // V

  friend bool operator==(const Order&, const Order&) = default;
};

Result<Order> parse_order(std::string_view text);
std::string to_string(const Order& order);

// An order at width I. chains partition 0..I-1 (empty chains are dropped, but keep their place in the joins
// as exact zeros); joins are (into, from): chain `into` becomes chain `into` + chain `from`, one rounded
// addition. The result is chain 0.
struct ChainPlan {
  std::vector<std::vector<std::int32_t>> chains;
  std::vector<std::pair<std::int32_t, std::int32_t>> joins;
};

// Precondition: order.kind != kAny.
ChainPlan plan_chains(const Order& order, std::int64_t in);

}  // namespace moe4
