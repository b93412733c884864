#include "oracle/faults/selftest.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "oracle/case/nearest.h"
#include "oracle/generate/generate.h"
#include "oracle/judge/encodings.h"

namespace moe4::oracle {
namespace {

constexpr std::int64_t kRealCases = 3;

struct Run {
  const SelftestOptions& options;
  Declaration declaration;
  SelftestReport& report;
};

bool is_open(const FaultOutcome& outcome) { return !outcome.caught_by && outcome.defect.empty(); }

bool wants_real(const FaultOutcome& outcome) {
  return outcome.defect.empty() && outcome.real_cases < kRealCases;
}

// Rows that count, as numbers.
std::vector<double> numbers(const CaseData& data, const Norm& norm, const Tensor& output) {
  const Encodings encodings(output.dtype());
  const std::int64_t out = output_shape(data).out;
  std::vector<double> values;
  for (std::int64_t k = 0; k < output.elements(); ++k) {
    if (!norm.written.empty() && norm.written[static_cast<std::size_t>(k / out)] == 0) continue;
    values.push_back(encodings.number(output_bits(output, k)));
  }
  return values;
}

// A fault of a kernel that promises bits counts where its interval does not tell.
bool is_inside(const Fault& fault, const CaseData& data, const SubjectRun& run) {
  Declaration declaration = declaration_of(fault);
  declaration.bits_declared = false;
  return judge(data, declaration, run).status != VerdictStatus::kFailed;
}

void ask_peers(const CaseData& data, const Norm& norm, const Planted& planted, FaultOutcome& outcome) {
  const std::vector<double> right = numbers(data, norm, norm.output);
  const std::vector<double> got = numbers(data, norm, planted.run.output);
  ++outcome.real_cases;
  for (std::size_t n = 0; n < kPeerRules; ++n) {
    outcome.passed_by[n] += peer_rules()[n].passes(right, got) ? 1 : 0;
  }
}

void plant_in(const Run& run, std::string_view tier, const Case& line, const CaseData& data, const Norm& norm,
              FaultOutcome& outcome) {
  const bool real = line.fill == Fill::kReal && wants_real(outcome);
  if (!outcome.takes(line) || !applies(*outcome.fault, data) || (!is_open(outcome) && !real)) return;
  const Fault& fault = *outcome.fault;
  std::optional<Result<Norm>> promised;
  if (fault.bits_declared) promised = declared_result(data, declaration_of(fault).arithmetic);
  if (promised && !promised->ok()) {
    outcome.defect = to_string(line) + ": " + promised->error().message();
    return;
  }
  const Norm& healthy = promised ? promised->value() : norm;
  Result<Planted> planted = plant_fault(fault, data, healthy, run.options.seed);
  if (!planted.ok()) {
    outcome.defect = to_string(line) + ": " + planted.error().message();
    return;
  }
  if (is_open(outcome)) ++outcome.applicable;
  if (!planted->visible) return;
  if (fault.bits_declared && !is_inside(fault, data, planted->run)) return;
  if (real) ask_peers(data, healthy, *planted, outcome);
  if (!is_open(outcome)) return;
  ++outcome.visible;
  const Verdict verdict = judge(data, declaration_of(fault), planted->run);
  if (verdict.status != VerdictStatus::kFailed) return;
  outcome.tier = tier;
  outcome.caught_by = line;
  outcome.rule = verdict.rule;
  outcome.reason = verdict.reason;
  outcome.where = planted->where;
}

// The norm itself, on a case of the lists.
void judge_norm(Run& run, const Case& line, const CaseData& data, const Norm& norm) {
  const Verdict verdict = judge(data, run.declaration, healthy_run(norm));
  ++run.report.controls;
  if (verdict.status == VerdictStatus::kPassed) return;
  run.report.alarms.push_back(
      {line, "the norm", fmt::format("{}: {}", name_of(verdict.status), verdict.reason)});
}

// first: see walk.
bool needs(const SelftestReport& report, const Case& line, bool first) {
  return std::any_of(report.faults.begin(), report.faults.end(), [&](const FaultOutcome& outcome) {
    const bool real = first && line.fill == Fill::kReal && wants_real(outcome);
    return outcome.takes(line) && (is_open(outcome) || real);
  });
}

// first: the list whose cases of fill=real the peers' rules are asked on; of a later one only what is still
// open is looked at.
Status walk(Run& run, std::string_view tier, const std::vector<Case>& lines, bool first) {
  for (const Case& line : lines) {
    if (!needs(run.report, line, first)) continue;
    if (run.options.progress) run.options.progress(to_string(line));
    Result<CaseData> data = generate(line);
    if (!data.ok()) return data.error();
    Result<Norm> norm = fast_norm_result(*data);
    if (!norm.ok()) return norm.error();
    judge_norm(run, line, *data, *norm);
#pragma omp parallel for schedule(dynamic)
    for (std::size_t n = 0; n < run.report.faults.size(); ++n) {
      plant_in(run, tier, line, *data, *norm, run.report.faults[n]);
    }
  }
  return {};
}

Status walk_tiers(Run& run) {
  bool first = true;
  for (const std::string_view name : run.options.tiers) {
    const Tier* tier = find_tier(name);
    if (tier == nullptr) return Error{"tier", std::string(name), "one of smoke, ci, nightly"};
    const Result<std::vector<Case>> lines = parse_case_list(tier->list);
    if (!lines.ok()) return lines.error();
    if (Status error = walk(run, name, *lines, first)) return error;
    first = false;
  }
  return {};
}

void add_rows(const Fault& fault, std::vector<FaultOutcome>& rows) {
  for (const Op op : all_ops()) {
    for (const WeightFormat weights : {WeightFormat::kMxfp4, WeightFormat::kInt4}) {
      if (!applies(fault, op, weights) || (op == Op::kCombine && weights == WeightFormat::kInt4)) continue;
      FaultOutcome& row = rows.emplace_back();
      row.fault = &fault;
      row.op = op;
      row.weights = weights;
    }
  }
}

Result<std::vector<FaultOutcome>> chosen(const std::vector<Fault>& catalogue,
                                         const std::vector<std::string>& only) {
  std::vector<FaultOutcome> outcomes;
  std::vector<std::string> names;
  for (const Fault& fault : catalogue) {
    names.emplace_back(fault.name);
    if (only.empty() || std::find(only.begin(), only.end(), fault.name) != only.end()) {
      add_rows(fault, outcomes);
    }
  }
  for (const std::string& name : only) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return Error{"fault", name, "unknown; the nearest known one is " + nearest_name(name, names)};
    }
  }
  return outcomes;
}

}  // namespace

std::int64_t SelftestReport::survivors() const {
  return std::count_if(faults.begin(), faults.end(), [](const FaultOutcome& f) { return !f.caught(); });
}

NamingRate SelftestReport::naming() const {
  NamingRate rate;
  for (const FaultOutcome& outcome : faults) {
    if (!outcome.diagnosis) continue;
    const Diagnosis& diagnosis = *outcome.diagnosis;
    const bool right = diagnosis.names(outcome.fault->name);
    ++rate.asked;
    rate.right += right ? 1 : 0;
    rate.alone += right && diagnosis.matches.size() == 1 ? 1 : 0;
    if (diagnosis.confidence != Confidence::kHigh) continue;
    ++rate.high;
    rate.high_and_wrong += right ? 0 : 1;
  }
  return rate;
}

bool SelftestReport::passed() const {
  const NamingRate rate = naming();
  const bool named = static_cast<double>(rate.right) >= kRightNames * static_cast<double>(rate.asked);
  return survivors() == 0 && alarms.empty() && controls > unbounded && named && rate.high_and_wrong == 0;
}

Declaration healthy_declaration() {
  Declaration d = make_reference_subject()->declaration();
  d.name = "planted";
  d.zero = ZeroCompare::kAny;
  return d;
}

Result<SelftestReport> run_selftest(const SelftestOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  SelftestReport report;
  Result<std::vector<FaultOutcome>> faults =
      chosen(options.catalogue != nullptr ? *options.catalogue : fault_catalogue(), options.only);
  if (!faults.ok()) return faults.error();
  if (options.plant) report.faults = std::move(*faults);
  Run run{options, healthy_declaration(), report};
  if (Status error = options.cases.empty() ? walk_tiers(run) : walk(run, "given", options.cases, true)) {
    return *error;
  }
  explain(options, report);
  run_controls(options, report);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace moe4::oracle
