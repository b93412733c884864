#include <algorithm>
#include <numeric>

#include "tests/properties/relations.h"
#include "tests/support/problems/fingerprint.h"
#include "tests/support/problems/shrink_problem.h"

namespace properties {
namespace {

using Indices = std::vector<std::int64_t>;

Indices range(std::int64_t first, std::int64_t end) {
  Indices result(static_cast<std::size_t>(end - first));
  std::iota(result.begin(), result.end(), first);
  return result;
}

// The rows of [T,O] outputs in another order.
Bits rows(const Problem& problem, const Bits& outputs, const Indices& order) {
  Bits result;
  for (const std::int64_t t : order) {
    const auto row = outputs.begin() + t * problem.out;
    result.insert(result.end(), row, row + problem.out);
  }
  return result;
}

std::string same(const Bits& a, const Bits& b) { return a == b ? "" : "the outputs differ"; }

}  // namespace

std::string permuted_tokens(const Kernel& kernel, const Problem& problem) {
  const Indices order = problems::permutation(problem, problem.tokens);
  return same(outputs(kernel, problems::keep_tokens(problem, order)),
              rows(problem, outputs(kernel, problem), order));
}

std::string permuted_slots(const Kernel& kernel, const Problem& problem) {
  const Indices order = problems::permutation(problem, problem.top_k);
  return same(outputs(kernel, problems::keep_slots(problem, order)), outputs(kernel, problem));
}

std::string permuted_experts(const Kernel& kernel, const Problem& problem) {
  const Indices order = problems::permutation(problem, problem.experts);
  return same(outputs(kernel, problems::keep_experts(problem, order)), outputs(kernel, problem));
}

std::string permuted_groups(const Kernel& kernel, const Problem& problem) {
  const Indices order = problems::permutation(problem, problem.groups);
  return same(outputs(kernel, problems::keep_groups(problem, order)), outputs(kernel, problem));
}

std::string split_batch(const Kernel& kernel, const Problem& problem) {
  const std::int64_t cut = problem.tokens / 2;
  Bits parts = outputs(kernel, problems::keep_tokens(problem, range(0, cut)));
  const Bits second = outputs(kernel, problems::keep_tokens(problem, range(cut, problem.tokens)));
  parts.insert(parts.end(), second.begin(), second.end());
  return same(parts, outputs(kernel, problem));
}

std::string outputs_one_by_one(const Kernel& kernel, const Problem& problem) {
  const Bits whole = outputs(kernel, problem);
  for (std::int64_t o = 0; o < problem.out; ++o) {
    const Bits column = outputs(kernel, problems::keep_outputs(problem, {o}));
    for (std::int64_t t = 0; t < problem.tokens; ++t) {
      if (column[static_cast<std::size_t>(t)] != whole[static_cast<std::size_t>(t * problem.out + o)]) {
        return "output " + std::to_string(o) + " alone differs";
      }
    }
  }
  return "";
}

std::string poisoned_experts(const Kernel& kernel, const Problem& problem) {
  const std::int64_t codes = problem.out * problem.row_bytes();  // bytes an expert
  const std::int64_t scales = problem.out * problem.groups;
  Problem poisoned = problem;
  poisoned.experts += 1;  // one more expert, behind the last, that nobody selects
  poisoned.packed_weights.resize(static_cast<std::size_t>(poisoned.experts * codes));
  poisoned.scale_bytes.resize(static_cast<std::size_t>(poisoned.experts * scales));
  const Indices& ids = problem.selected_experts;
  for (std::int64_t e = 0; e < poisoned.experts; ++e) {
    if (std::find(ids.begin(), ids.end(), e) == ids.end()) {
      std::fill_n(poisoned.packed_weights.begin() + e * codes, codes, std::uint8_t{0xF7});
      std::fill_n(poisoned.scale_bytes.begin() + e * scales, scales, std::uint8_t{255});
    }
  }
  return same(outputs(kernel, poisoned), outputs(kernel, problem));
}

}  // namespace properties
