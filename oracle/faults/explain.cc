// What the kill table says of a fault that was caught: how small a case shows it, and what the diagnosis
// takes it for.
#include "oracle/faults/selftest.h"
#include "oracle/generate/generate.h"
#include "oracle/shrink/shrink.h"

namespace moe4::oracle {
namespace {

// A search that meets a limit has a small case all the same.
constexpr std::int64_t kShrinkRuns = 250;
constexpr double kSeconds = 4;

// Does the fault, planted in this case, make the run FAILED?
bool is_told(const FaultOutcome& outcome, const Case& line, std::uint64_t seed) {
  if (!outcome.takes(line)) return false;
  const Result<CaseData> data = generate(line);
  if (!data.ok()) return false;
  if (!applies(*outcome.fault, *data)) return false;
  const Result<Norm> norm = healthy_result(*outcome.fault, *data);
  if (!norm.ok()) return false;
  const Result<Planted> planted = plant_fault(*outcome.fault, *data, *norm, seed);
  if (!planted.ok() || !planted->visible) return false;
  return judge(*data, declaration_of(*outcome.fault), planted->run).status == VerdictStatus::kFailed;
}

std::optional<Diagnosis> diagnose_caught(const FaultOutcome& outcome, const SelftestOptions& options) {
  const Result<CaseData> data = generate(*outcome.caught_by);
  if (!data.ok()) return std::nullopt;
  const Result<Norm> norm = healthy_result(*outcome.fault, *data);
  if (!norm.ok()) return std::nullopt;
  const Result<Planted> planted = plant_fault(*outcome.fault, *data, *norm, options.seed);
  if (!planted.ok()) return std::nullopt;
  DiagnoseOptions how;
  how.catalogue = options.catalogue;
  how.time = std::chrono::duration<double>(60);
  Result<Diagnosis> diagnosis = diagnose(*data, declaration_of(*outcome.fault), planted->run, how);
  return diagnosis.ok() ? std::optional<Diagnosis>(std::move(*diagnosis)) : std::nullopt;
}

}  // namespace

void explain(const SelftestOptions& options, SelftestReport& report) {
  if (!options.shrink && !options.name) return;
  std::int64_t done = 0;
#pragma omp parallel for schedule(dynamic)
  for (std::size_t n = 0; n < report.faults.size(); ++n) {
    FaultOutcome& outcome = report.faults[n];
    if (!outcome.caught()) continue;
    if (options.progress) {
#pragma omp critical
      options.progress("explaining " + std::to_string(++done) + " of " +
                       std::to_string(report.faults.size()));
    }
    if (options.name) outcome.diagnosis = diagnose_caught(outcome, options);
    if (!options.shrink) continue;
    ShrinkLimits limits;
    limits.runs = kShrinkRuns;
    limits.time = std::chrono::duration<double>(kSeconds);
    const auto fails = [&](const Case& line) { return is_told(outcome, line, options.seed); };
    outcome.shrunk = shrink_case(*outcome.caught_by, fails, limits).line;
  }
}

}  // namespace moe4::oracle
