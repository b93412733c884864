// Orders of summation (BND-2, BND-3): a word, and the chains and joins that it stands for at a width I.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace slow_model {

struct SumOrder {
  enum class Chains { kAny, kSeq, kGroups, kLanesShfl, kLanesSeq, kWarpsTree };
  enum class Slices { kNone, kSplit, kStreamK };

  Chains chains = Chains::kAny;  // with slices, kSeq is written without "*"
  std::int64_t a = 0;            // B, L or S
  std::int64_t b = 0;            // V or W
  Slices slices = Slices::kNone;
  std::int64_t n = 0;
};

std::string text_of(const SumOrder& order);

// The chains and joins of one slice, or of the whole sum. Chains without an index keep their place.
struct Accumulators {
  std::vector<std::vector<std::int64_t>> chains;
  std::vector<std::pair<std::size_t, std::size_t>> joins;  // (into, from)
};

// By ascending columns; slices without a group are none. `any` is evaluated as `seq` (PRO-3).
std::vector<Accumulators> plan_of(const SumOrder& order, std::int64_t in);

// PRO-14: the steps [first, end) along I of each slice of each tile.
using Steps = std::pair<std::int64_t, std::int64_t>;
std::vector<std::vector<Steps>> streamk_slices(std::int64_t blocks, std::int64_t tiles, std::int64_t steps);

}  // namespace slow_model
