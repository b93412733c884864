// The order in which a kernel adds its products over i: chains and the tree that joins them.
//
// A chain is the list of indices that one accumulator sums, in order, starting from +0. The joins then add
// whole accumulators. An order gives the error bound (reference/bound), the model's evaluation and the
// healthy controls alike. Grammar and meaning: docs/spec/bounds.md, BND rules.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/status.h"

namespace moe4 {

// A parsed order, not yet bound to a width I. The words (BND-2):
//   any                 nothing is declared: the bound of any tree over the products
//   seq                 one chain, i = 0, 1, ..., I-1
//   groups(B)           one chain per block of B consecutive i; the block sums are added in order
//   lanes(L,V)+shfl     lane l of L sums the i with (i / V) % L == l; joined by a halving (xor shuffle) tree
//   lanes(L,V)+seq      the same chains, added in lane order to lane 0
//   warps(S,W)+tree     warp j of W sums the slabs of S columns with (i / S) % W == j; joined by halving
//   split(n)            n contiguous slices, their sums added in order
//   streamk(n)          n contiguous slices, each rounded to BF16, added from the last to the first (PRO-17)
//   split(n)*warps(64,4)+tree      slices, each summed by one of the orders with chains above
struct Order {
  enum class Kind : std::uint8_t { kAny, kSeq, kGroups, kLanes, kWarps };
  enum class Join : std::uint8_t { kNone, kSeq, kShfl, kTree };
  enum class Slicing : std::uint8_t { kNone, kSplit, kStreamK };
  Kind kind = Kind::kAny;  // inside of each slice
  Join join = Join::kNone;
  std::int64_t a = 0;  // B, L or S
  std::int64_t b = 0;  // V or W
  Slicing slicing = Slicing::kNone;
  std::int64_t slices = 1;  // n

  friend bool operator==(const Order&, const Order&) = default;
};

Result<Order> parse_order(std::string_view text);
std::string to_string(const Order& order);

// An order at width I. chains partition 0..I-1 (empty chains are dropped, but keep their place in the joins
// as exact zeros); joins are (into, from): chain `into` becomes chain `into` + chain `from`, one rounded
// addition. The result is chain 0, unless there are partials.
struct ChainPlan {
  std::vector<std::vector<std::int32_t>> chains;
  std::vector<std::pair<std::int32_t, std::int32_t>> joins;
  // streamk only: the chains that hold the sums of the slices after the joins, the last slice first. Each is
  // rounded to BF16 and they are added in this order by PRO-17.
  std::vector<std::int32_t> partials;
};

// `any` is planned as `seq` (PRO-3).
ChainPlan plan_chains(const Order& order, std::int64_t in);

// Columns begin..end-1 of I.
struct Slice {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  friend bool operator==(const Slice&, const Slice&) = default;
};

// BND-3: the slices of split(n) and streamk(n): whole groups, as equal as they can be; none of them empty.
// Precondition: in is a multiple of 32.
std::vector<Slice> equal_slices(std::int64_t in, std::int64_t count);

// plan_chains with other slices than those that order.slices says. Precondition: order.slicing is not kNone;
// the slices are not empty, ascending, and part 0..I-1 without gaps.
ChainPlan plan_slices(const Order& order, std::span<const Slice> slices);

}  // namespace moe4
