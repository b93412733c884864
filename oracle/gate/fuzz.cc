#include "oracle/gate/fuzz.h"

#include <algorithm>

#include "oracle/gate/draw.h"
#include "oracle/generate/generate.h"

namespace moe4::oracle {

using Clock = std::chrono::steady_clock;

bool same_kind(const Verdict& failure, const Verdict& other) {
  if (failure.status != other.status || failure.findings.empty() != other.findings.empty()) return false;
  if ((failure.bits_differ > 0) != (other.bits_differ > 0)) return false;
  return failure.findings.empty() || failure.findings.front().check == other.findings.front().check;
}

FuzzFailure shrink_failure(Subject& subject, CaseResult found, const ShrinkLimits& limits) {
  bool stopped = false;
  const auto fails = [&](const Case& line) {
    stopped = stopped || (limits.stop && limits.stop());
    return !stopped && same_kind(found.verdict, evaluate(subject, line, NameFault::kNo).verdict);
  };
  const Shrunk shrunk = shrink_case(found.line, fails, limits);
  FuzzFailure failure;
  failure.minimal = evaluate(subject, shrunk.line);
  failure.shrink_runs = shrunk.runs;
  failure.shrink_complete = shrunk.complete && !stopped;
  failure.found = std::move(found);
  return failure;
}

FuzzReport run_fuzz(std::span<Subject* const> subjects, const FuzzOptions& options) {
  const Clock::time_point start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start); };
  FuzzReport report;
  std::vector<Subject*> healthy(subjects.begin(), subjects.end());
  const auto stop = [&] { return options.stop && options.stop(); };
  while (!healthy.empty() && elapsed() < options.time && !stop() &&
         (options.cases == 0 || report.cases < options.cases)) {
    std::vector<const Declaration*> declarations;
    for (const Subject* subject : healthy) declarations.push_back(&subject->declaration());
    const std::optional<Case> line =
        draw_case(declarations, options.seed, static_cast<std::uint64_t>(report.cases));
    if (!line) break;
    ++report.cases;
    Result<CaseData> data = generate(*line);
    if (!data.ok()) {
      ++report.unusable;
      continue;
    }
    std::vector<Subject*> failed;
    for (Subject* subject : healthy) {
      if (subject->declaration().refuses(*line) || stop()) continue;
      if (options.progress) options.progress(report.cases, *line, subject->declaration().name);
      CaseResult result = evaluate(*subject, *line, *data);
      const VerdictStatus status = result.verdict.status;
      const bool weak = exit_code_of(status) == ExitCode::kUnmet;
      report.weak += weak;
      report.runs += status == VerdictStatus::kPassed || (is_red(status) && !weak);
      if (weak || !is_red(status)) continue;
      failed.push_back(subject);
      if (options.failed) options.failed(result);
      ShrinkLimits limits = options.shrink;
      limits.stop = options.stop;
      report.failures.push_back(shrink_failure(*subject, std::move(result), limits));
      if (options.found) options.found(report.failures.back());
    }
    const auto has_failed = [&](Subject* s) {
      return std::find(failed.begin(), failed.end(), s) != failed.end();
    };
    healthy.erase(std::remove_if(healthy.begin(), healthy.end(), has_failed), healthy.end());
  }
  report.seconds = elapsed().count();
  return report;
}

ExitCode FuzzReport::exit_code() const {
  ExitCode code = runs == 0 ? ExitCode::kUnmet : ExitCode::kPassed;
  for (const FuzzFailure& failure : failures)
    code = more_urgent(code, exit_code_of(failure.found.verdict.status));
  return code;
}

}  // namespace moe4::oracle
