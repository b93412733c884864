#include "tests/support/problems/fingerprint.h"

#include <algorithm>
#include <numeric>

#include "tests/support/problems/draw.h"

namespace problems {

std::uint64_t fingerprint(const slow_model::Problem& problem) {
  std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a, a word at a time
  const auto mix = [&](std::uint64_t word) { hash = (hash ^ word) * 0x100000001B3; };
  std::for_each(problem.latent_tokens.bits.begin(), problem.latent_tokens.bits.end(), mix);
  std::for_each(problem.packed_weights.begin(), problem.packed_weights.end(), mix);
  std::for_each(problem.packed_words.begin(), problem.packed_words.end(), mix);
  std::for_each(problem.shared_output.bits.begin(), problem.shared_output.bits.end(), mix);
  return hash >> 16;
}

std::vector<std::int64_t> permutation(const slow_model::Problem& problem, std::int64_t n) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  Draw draw{rc::Random(fingerprint(problem))};
  for (std::size_t last = order.size(); last > 1; --last) {
    std::swap(order[last - 1], order[draw.below(last)]);
  }
  return order;
}

}  // namespace problems
