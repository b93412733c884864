// An order's chains made flat, cut into the runs that a sum without a rounding between groups needs.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "reference/accumulate/order.h"

namespace moe4 {

// Position p of the sum holds column index[p]. Chain c is the runs chain_begin[c] … chain_begin[c+1]-1, run r
// the positions run_begin[r] … run_begin[r+1]-1. A chain is one run, but for `accumulator_scale`, where a run
// is a longest stretch of one group (ACC-16) and run_group[r] is that group.
struct FlatPlan {
  std::vector<std::int32_t> index;
  std::vector<std::int32_t> group;  // of each position
  std::vector<std::int32_t> run_begin;
  std::vector<std::int32_t> run_group;
  std::vector<std::int32_t> chain_begin;
  std::vector<std::pair<std::int32_t, std::int32_t>> joins;
  std::vector<std::int32_t> partials;        // as in ChainPlan
  std::vector<std::int32_t> slice_of_chain;  // the place in `partials` of the slice that a chain belongs to

  FlatPlan(const ChainPlan& plan, bool runs_by_group);

  std::size_t in() const { return index.size(); }
  std::size_t chains() const { return chain_begin.size() - 1; }
};

}  // namespace moe4
