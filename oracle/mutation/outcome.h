// What became of the mutants of a subject: faults planted into its code, and whether the gate's cases saw
// them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace moe4::oracle {

// Share of the mutants that must be killed, of those that ran and are not listed as equivalent.
inline constexpr double kKillFloor = 0.95;

enum class Fate {
  kKilled,    // a case went red
  kSurvived,  // every case passed
  kRefused,   // no program: it does not parse, or the executor refuses it before a thread runs
  kNotRun,    // the time was up, or it was not drawn
};

struct MutantOutcome {
  std::string kind;  // "barrier"
  std::string name;  // "barrier:214:drop bar.sync"
  std::string text;  // the statement, as it was
  std::string diff;  // one line
  Fate fate = Fate::kNotRun;
  std::string by;           // killed: "mismatch", "unwritten", or the executor's check; refused: why
  std::string case_line;    // the case that killed it
  bool equivalent = false;  // the ledger says that it computes the same
};

struct MutationReport {
  std::string subject;
  std::int64_t cases = 0;  // that each mutant had to pass
  std::vector<MutantOutcome> mutants;
  std::vector<std::string> ledger_errors;  // entries that match nothing, or whose mutant was killed
  double seconds = 0;

  std::int64_t count(Fate fate) const;
  // killed / (killed + survived), without what the ledger lists; 0 when nothing ran.
  double kill_rate() const;
  // The floor is met, something ran, and the ledger holds.
  bool passed() const;
};

}  // namespace moe4::oracle
