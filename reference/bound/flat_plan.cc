#include "reference/bound/flat_plan.h"

#include <algorithm>
#include <numeric>

#include "reference/formats/packed_codes.h"

namespace moe4 {
namespace {

// A join puts one chain into the slice of another; joins of a slice end in its result.
std::vector<std::int32_t> slices_of_chains(const ChainPlan& plan) {
  std::vector<std::int32_t> into(plan.chains.size());
  std::iota(into.begin(), into.end(), 0);
  for (const auto& [to, from] : plan.joins) into[static_cast<std::size_t>(from)] = to;
  std::vector<std::int32_t> slices;
  for (std::int32_t chain = 0; chain < static_cast<std::int32_t>(into.size()); ++chain) {
    std::int32_t result = chain;
    while (into[static_cast<std::size_t>(result)] != result) result = into[static_cast<std::size_t>(result)];
    const auto at = std::find(plan.partials.begin(), plan.partials.end(), result);
    slices.push_back(static_cast<std::int32_t>(at - plan.partials.begin()));
  }
  return slices;
}

}  // namespace

FlatPlan::FlatPlan(const ChainPlan& plan, bool runs_by_group) : joins(plan.joins), partials(plan.partials) {
  for (const auto& chain : plan.chains) {
    chain_begin.push_back(static_cast<std::int32_t>(run_begin.size()));
    for (std::size_t k = 0; k < chain.size(); ++k) {
      const std::int32_t of = chain[k] / kGroupSize;
      if (k == 0 || (runs_by_group && of != group.back())) {
        run_begin.push_back(static_cast<std::int32_t>(index.size()));
        run_group.push_back(of);
      }
      index.push_back(chain[k]);
      group.push_back(of);
    }
  }
  chain_begin.push_back(static_cast<std::int32_t>(run_begin.size()));
  run_begin.push_back(static_cast<std::int32_t>(index.size()));
  if (!partials.empty()) slice_of_chain = slices_of_chains(plan);
}

}  // namespace moe4
