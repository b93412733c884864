#include "reference/fast/expert_runs.h"

#include <algorithm>
#include <numeric>

namespace moe4::fast {

std::vector<ExpertRun> expert_runs(const std::vector<WorkItem>& items, std::int64_t most) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return items[a].expert < items[b].expert; });
  std::vector<ExpertRun> runs;
  for (const std::size_t n : order) {
    const WorkItem& item = items[n];
    const bool full = !runs.empty() && static_cast<std::int64_t>(runs.back().targets.size()) == most;
    if (runs.empty() || full || runs.back().expert != item.expert) runs.push_back({item.expert, {}, {}});
    runs.back().sources.push_back(item.source);
    runs.back().targets.push_back(item.target);
  }
  return runs;
}

}  // namespace moe4::fast
