#include "oracle/mutation/kill_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

namespace moe4::oracle {
namespace {

struct Row {
  std::int64_t total = 0, killed = 0, survived = 0, equivalent = 0, refused = 0, not_run = 0;
  std::map<std::string, std::int64_t> by;

  void add(const MutantOutcome& mutant) {
    ++total;
    equivalent += mutant.equivalent;
    refused += mutant.fate == Fate::kRefused;
    not_run += mutant.fate == Fate::kNotRun;
    survived += mutant.fate == Fate::kSurvived && !mutant.equivalent;
    if (mutant.fate != Fate::kKilled) return;
    ++killed;
    ++by[mutant.by];
  }
};

std::string rate(const Row& row) {
  const std::int64_t judged = row.killed + row.survived;
  if (judged == 0) return "-";
  return fmt::format("{:.1f} %", 100 * static_cast<double>(row.killed) / static_cast<double>(judged));
}

std::string killers(const Row& row) {
  std::vector<std::pair<std::string, std::int64_t>> sorted(row.by.begin(), row.by.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [by, count] : sorted) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", by, count);
  return text;
}

std::string line(std::string_view kind, const Row& row) {
  std::string text =
      fmt::format("{:<11}{:>8}{:>8}{:>9}{:>10}{:>12}{:>9}{:>9}  {}", kind, row.total, row.killed, rate(row),
                  row.survived, row.equivalent, row.refused, row.not_run, killers(row));
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

std::string verdict(const MutationReport& report) {
  const bool below = report.kill_rate() < kKillFloor;
  return fmt::format(
      "{}: {:.1f} % of the mutants of {} are killed by {} cases; the floor is {:.0f} %{}{}, {:.1f} s\n",
      report.passed() ? "PASSED" : "FAILED", 100 * report.kill_rate(), report.subject, report.cases,
      100 * kKillFloor, below ? ", which is not met" : "",
      report.ledger_errors.empty() ? "" : ", and the ledger is wrong", report.seconds);
}

}  // namespace

std::string kill_table(const MutationReport& report) {
  std::vector<std::string> kinds;
  std::map<std::string, Row> rows;
  Row total;
  for (const MutantOutcome& mutant : report.mutants) {
    if (rows.find(mutant.kind) == rows.end()) kinds.push_back(mutant.kind);
    rows[mutant.kind].add(mutant);
    total.add(mutant);
  }
  std::sort(kinds.begin(), kinds.end());
  std::string text =
      fmt::format("{:<11}{:>8}{:>8}{:>9}{:>10}{:>12}{:>9}{:>9}  {}\n", "kind", "mutants", "killed", "rate",
                  "survived", "equivalent", "refused", "not run", "killed by");
  for (const std::string& kind : kinds) text += line(kind, rows[kind]);
  text += line("total", total);
  std::string survivors;
  for (const MutantOutcome& mutant : report.mutants) {
    if (mutant.fate != Fate::kSurvived || mutant.equivalent) continue;
    survivors += fmt::format("  {}\n    {}\n", mutant.name, mutant.diff);
  }
  if (!survivors.empty()) text += "\nsurvivors: no case tells them from the subject\n" + survivors;
  if (!report.ledger_errors.empty()) text += "\nwrong entries of the ledger of equivalent mutants\n";
  for (const std::string& error : report.ledger_errors) text += "  " + error + "\n";
  return text + "\n" + verdict(report);
}

}  // namespace moe4::oracle
