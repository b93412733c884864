#include "oracle/gate/baseline.h"

#include <map>

namespace moe4::oracle {
namespace {

// Of each case that ran: is it red?
std::map<std::string, bool> outcomes_of(const GateReport& report) {
  std::map<std::string, bool> outcomes;
  for (const Tally& tally : report.tallies) {
    for (const CaseResult& result : tally.results) {
      if (result.verdict.status == VerdictStatus::kUnsupported ||
          result.verdict.status == VerdictStatus::kSkipped)
        continue;
      outcomes[tally.subject + ": " + to_string(result.line)] = is_red(result);
    }
  }
  return outcomes;
}

}  // namespace

BaselineComparison compare_with_baseline(const GateReport& now, const GateReport& before) {
  const std::map<std::string, bool> current = outcomes_of(now), old = outcomes_of(before);
  BaselineComparison comparison;
  for (const auto& [name, red] : current) {
    const auto found = old.find(name);
    const bool was_red = found != old.end() && found->second;
    if (red) (was_red ? comparison.still : comparison.fresh).push_back(name);
    if (!red && was_red) comparison.fixed.push_back(name);
  }
  for (const auto& [name, red] : old) {
    if (red && current.count(name) == 0) comparison.gone.push_back(name);
  }
  return comparison;
}

}  // namespace moe4::oracle
