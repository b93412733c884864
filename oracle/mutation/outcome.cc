#include "oracle/mutation/outcome.h"

#include <algorithm>

namespace moe4::oracle {

std::int64_t MutationReport::count(Fate fate) const {
  return std::count_if(mutants.begin(), mutants.end(),
                       [&](const MutantOutcome& m) { return m.fate == fate && !m.equivalent; });
}

double MutationReport::kill_rate() const {
  const auto killed = static_cast<double>(count(Fate::kKilled));
  const auto survived = static_cast<double>(count(Fate::kSurvived));
  return killed + survived == 0 ? 0 : killed / (killed + survived);
}

bool MutationReport::passed() const { return ledger_errors.empty() && kill_rate() >= kKillFloor; }

}  // namespace moe4::oracle
