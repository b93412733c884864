#include "oracle/subject/gpu/mutation_run.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>

#include "oracle/gate/evaluate.h"
#include "oracle/generate/generate.h"
#include "oracle/generate/random.h"
#include "oracle/judge/judge.h"
#include "oracle/subject/gpu/budget_device.h"

namespace moe4::oracle {
namespace {

using Clock = std::chrono::steady_clock;

// A mutant may take some detours; beyond this it is not coming back.
constexpr std::uint64_t kBudgetFactor = 4, kBudgetFloor = 20000;

struct Trial {
  Case line;
  std::unique_ptr<const CaseData> data;
  std::unique_ptr<const Judge> judge;  // what is due, worked out once for all mutants
  SubjectRun healthy;                  // of the unmutated subject
  std::uint64_t budget = 0;
};

struct Instance {
  std::shared_ptr<BudgetDevice::Budget> budget = std::make_shared<BudgetDevice::Budget>();
  std::unique_ptr<Subject> subject;
};

Result<Instance> instance_of(const PtxProgram& program, std::string_view ptx) {
  Instance instance;
  Result<std::unique_ptr<Subject>> subject =
      program.make(ptx, std::make_unique<BudgetDevice>(gpu::make_executor_device(), instance.budget));
  if (!subject.ok()) return subject.error();
  instance.subject = std::move(*subject);
  return instance;
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

// The cases that the unmutated subject accepts and passes, cheapest first. declaration: the subject's; it
// must outlive the trials.
Result<std::vector<Trial>> healthy_trials(const PtxProgram& program, const Declaration& declaration,
                                          const std::vector<Case>& cases) {
  Result<Instance> instance = instance_of(program, program.ptx);
  if (!instance.ok()) return instance.error();
  Subject& subject = *instance->subject;
  std::vector<Trial> trials;
  for (const Case& line : cases) {
    if (declaration.refuses(line)) continue;
    Result<CaseData> data = generate(line);
    if (!data.ok()) return Error{"case", to_string(line), data.error().message()};
    Trial trial;
    trial.line = line;
    trial.data = std::make_unique<const CaseData>(std::move(*data));
    trial.judge = std::make_unique<const Judge>(*trial.data, declaration);
    instance->budget->used = 0;
    trial.healthy = subject.run(*trial.data);
    const Verdict verdict = trial.judge->verdict(trial.healthy);
    if (verdict.status == VerdictStatus::kUnsupported) continue;
    if (verdict.status != VerdictStatus::kPassed) {
      return Error{"subject " + declaration.name,
                   std::string(name_of(verdict.status)) + ": " + verdict.reason,
                   "passes every case before it is mutated; it does not pass " + to_string(line)};
    }
    trial.budget = kBudgetFactor * instance->budget->used + kBudgetFloor;
    trials.push_back(std::move(trial));
  }
  std::stable_sort(trials.begin(), trials.end(),
                   [](const Trial& a, const Trial& b) { return a.budget < b.budget; });
  if (trials.empty()) {
    return Error{"subject " + declaration.name, "no case", "at least one case of the list runs"};
  }
  return trials;
}

// What made the run red: the device's word if it had one.
std::string cause(const SubjectRun& run, const Verdict& verdict) {
  if (!run.findings.empty()) return run.findings.front().check;
  if (verdict.unwritten > 0) return "unwritten";
  if (verdict.status == VerdictStatus::kFailed && verdict.mismatched > 0) return "mismatch";
  if (verdict.bits_differ > 0) return "declared bits";
  return std::string(name_of(verdict.status));
}

void run_mutant(const PtxProgram& program, const ptx::Mutant& mutant, const std::vector<Trial>& trials,
                MutantOutcome& outcome) {
  const std::string text = ptx::mutated(program.ptx, mutant);
  Result<Instance> instance = instance_of(program, text);
  outcome.fate = Fate::kRefused;
  if (!instance.ok()) {
    outcome.by = instance.error().message();
    return;
  }
  for (const Trial& trial : trials) {
    instance->budget->warp_instructions = trial.budget;
    const SubjectRun run = instance->subject->run(*trial.data);
    using Outcome = SubjectRun::Outcome;
    if (run.outcome == Outcome::kUnsupported || (run.outcome == Outcome::kError && run.findings.empty())) {
      outcome.by = run.reason;
      return;
    }
    if (run.outcome == Outcome::kRan && run.findings.empty() && run.inputs_unchanged &&
        run.unwritten == trial.healthy.unwritten && same_bytes(run.output, trial.healthy.output)) {
      continue;
    }
    const Verdict verdict = trial.judge->verdict(run);
    if (!is_red(verdict.status)) continue;
    outcome.fate = Fate::kKilled;
    outcome.by = cause(run, verdict);
    outcome.case_line = to_string(trial.line);
    return;
  }
  outcome.fate = Fate::kSurvived;
}

std::uint64_t hash_of(const std::string& text, std::uint64_t seed) {
  Key key = Key::from_seed(seed);
  for (const char c : text) key = key(static_cast<unsigned char>(c));
  return key.word();
}

// Which mutants are run: of the kinds and names asked for, and of these `limit` drawn by the seed.
std::vector<std::size_t> drawn(const std::vector<ptx::Mutant>& mutants, const MutationOptions& options) {
  std::vector<std::size_t> chosen;
  for (std::size_t n = 0; n < mutants.size(); ++n) {
    if (!options.kinds.empty() && options.kinds.count(mutants[n].kind) == 0) continue;
    if (options.names.empty() || options.names.count(mutants[n].name) > 0) chosen.push_back(n);
  }
  const auto limit = static_cast<std::size_t>(options.limit);
  if (limit == 0 || limit >= chosen.size()) return chosen;
  std::stable_sort(chosen.begin(), chosen.end(), [&](std::size_t a, std::size_t b) {
    return hash_of(mutants[a].name, options.seed) < hash_of(mutants[b].name, options.seed);
  });
  chosen.resize(limit);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace

Result<MutationReport> run_mutants(const PtxProgram& program, const std::vector<Case>& cases,
                                   const MutationOptions& options) {
  const Clock::time_point start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start); };
  ptx::Error error;
  const auto mutants = ptx::mutants_of(program.ptx, program.entry, &error);
  if (!mutants) return Error{"ptx", "line " + std::to_string(error.line), error.message};
  const Result<Instance> healthy = instance_of(program, program.ptx);
  if (!healthy.ok()) return healthy.error();
  const Result<std::vector<Trial>> trials = healthy_trials(program, healthy->subject->declaration(), cases);
  if (!trials.ok()) return trials.error();

  for (const std::string& name : options.names) {
    const auto has_name = [&](const ptx::Mutant& mutant) { return mutant.name == name; };
    if (std::none_of(mutants->begin(), mutants->end(), has_name)) {
      return Error{"mutant", name, "a mutant of the subject, named as the table names survivors"};
    }
  }

  MutationReport report;
  report.subject = healthy->subject->declaration().name;
  report.cases = static_cast<std::int64_t>(trials->size());
  for (const std::size_t n : drawn(*mutants, options)) {
    const ptx::Mutant& mutant = (*mutants)[n];
    MutantOutcome outcome;
    outcome.kind = std::string(ptx::name_of(mutant.kind));
    outcome.name = mutant.name;
    outcome.text = mutant.before;
    outcome.diff = ptx::diff(mutant);
    report.mutants.push_back(std::move(outcome));
  }
  std::map<std::string, const ptx::Mutant*> by_name;
  std::map<std::string, std::string> statements;
  for (const ptx::Mutant& mutant : *mutants) {
    by_name[mutant.name] = &mutant;
    statements[mutant.name] = mutant.before;
  }

  const int jobs = options.jobs > 0 ? options.jobs : omp_get_max_threads();
  const auto total = static_cast<std::int64_t>(report.mutants.size());
  std::atomic<std::int64_t> done{0};
#pragma omp parallel for schedule(dynamic) num_threads(jobs)
  for (std::int64_t n = 0; n < total; ++n) {
    MutantOutcome& outcome = report.mutants[static_cast<std::size_t>(n)];
    if (options.time.count() > 0 && elapsed() > options.time) continue;
    if (options.progress) {
#pragma omp critical
      options.progress(done, total, outcome.name);
    }
    ++done;
    run_mutant(program, *by_name.at(outcome.name), *trials, outcome);
  }
  apply_ledger(options.ledger, statements, report);
  report.seconds = elapsed().count();
  return report;
}

}  // namespace moe4::oracle
