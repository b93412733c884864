// Rows sorted by their experts, so that a decoded weight serves all of an expert's rows.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/fast/token_panel.h"

namespace moe4::fast {

// A row that is to be computed: the expert's dot products with one row of tokens.
struct WorkItem {
  std::int64_t expert = 0;
  TokenIndex source{};
  std::int64_t target = 0;  // the caller's name for it
};

// Up to `most` items of one expert.
struct ExpertRun {
  std::int64_t expert = 0;
  std::vector<TokenIndex> sources;
  std::vector<std::int64_t> targets;
};

// All items, in the order of experts and then of `items`.
std::vector<ExpertRun> expert_runs(const std::vector<WorkItem>& items, std::int64_t most);

}  // namespace moe4::fast
