#include "oracle/judge/judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "oracle/case/output_rows.h"
#include "oracle/judge/clusters.h"
#include "oracle/judge/written.h"

namespace moe4::oracle {
namespace {

constexpr std::int64_t kVacuityOutputs = 16;

// The outcome of a run that did not end well (VER-1).
std::optional<VerdictStatus> status_of(SubjectRun::Outcome outcome) {
  switch (outcome) {
    case SubjectRun::Outcome::kRan:
      return std::nullopt;
    case SubjectRun::Outcome::kUnsupported:
      return VerdictStatus::kUnsupported;
    case SubjectRun::Outcome::kSkipped:
      return VerdictStatus::kSkipped;
    case SubjectRun::Outcome::kCrashed:
      return VerdictStatus::kCrashed;
    case SubjectRun::Outcome::kTimeout:
      return VerdictStatus::kTimeout;
    case SubjectRun::Outcome::kError:
      return VerdictStatus::kFailed;
  }
  return VerdictStatus::kFailed;
}

// VER-9: fills whose outputs are meant to be NaN, zero or nearly so.
bool may_be_vacuous(const CaseData& data) {
  if (!data.line) return false;
  const Case& c = *data.line;
  const bool shrunk =
      !(c.keep_tokens.empty() && c.keep_outputs.empty() && c.keep_groups.empty() && c.keep_codes.empty());
  return shrunk || c.fill == Fill::kNonfinite || c.fill == Fill::kSubnormal || c.fill == Fill::kCancel ||
         c.fill == Fill::kSlabCancel;
}

void fail(Verdict& verdict, std::string reason) {
  verdict.status = VerdictStatus::kFailed;
  verdict.reason += (verdict.reason.empty() ? "" : "; ") + std::move(reason);
}

// VER-7.
void check_run(const SubjectRun& run, Verdict& verdict) {
  if (!run.inputs_unchanged) fail(verdict, "VER-7: an input was changed");
  const auto red = [](const DeviceFinding& finding) { return !finding.formal; };
  const auto first = std::find_if(run.findings.begin(), run.findings.end(), red);
  if (first != run.findings.end()) {
    const auto count = std::count_if(run.findings.begin(), run.findings.end(), red);
    const std::string more = count > 1 ? fmt::format(" and {} more", count - 1) : "";
    fail(verdict, fmt::format("VER-7: the device reports {}{}", first->check, more));
  }
}

// VER-7, VER-15.
void check_rows(const CaseData& data, const Due& due, const SubjectRun& run, Verdict& verdict) {
  const WrittenCheck written = check_written(data, due, run);
  verdict.unwritten = written.unwritten;
  verdict.stray = written.stray;
  if (written.malformed) fail(verdict, written.malformed->message());
  if (written.unwritten > 0) {
    fail(verdict, fmt::format("VER-7: {} outputs were not written", written.unwritten));
  }
  if (written.stray > 0) {
    fail(verdict, fmt::format("VER-15: {} outputs were written in rows that no id names", written.stray));
  }
}

// VER-2. The flat shape of grouped_masked is the same memory (RTE-10).
bool shape_fits(const CaseData& data, const Tensor& output, Verdict& verdict) {
  const OutputShape due = output_shape(data);
  if (output.dtype() == due.dtype && (output.shape() == due.shape || output.shape() == due.flat)) return true;
  verdict.rule = "VER-2: dtype and shape of the output";
  fail(verdict, fmt::format("expected {} {}, got {} {}", name_of(due.dtype), moe4::to_string(due.shape),
                            name_of(output.dtype()), moe4::to_string(output.shape())));
  return false;
}

void mistrust(Verdict& verdict, std::string reason) {
  verdict.status = VerdictStatus::kMistrusted;
  verdict.reason = std::move(reason);
}

// VER-1: a run that did not end; nothing for one that did.
std::optional<Verdict> unended(const SubjectRun& run) {
  const std::optional<VerdictStatus> status = status_of(run.outcome);
  if (!status) return std::nullopt;
  Verdict verdict;
  verdict.status = *status;
  verdict.rule = "VER-1: the run did not end";
  verdict.reason = run.reason;
  verdict.findings = run.findings;
  verdict.hardware = run.hardware;
  verdict.approximate = run.approximate;
  return verdict;
}

std::string first_of(const std::vector<Mismatch>& worst, const Tensor& output) {
  const Encodings encodings(output.dtype());
  const Mismatch& m = worst.front();
  return fmt::format("[{},{}] expected {}, got {}", m.row, m.out, encodings.text(m.expected_lo),
                     encodings.text(m.got));
}

}  // namespace

Judge::Judge(const CaseData& data, const Declaration& declaration)
    : data_(data), declaration_(declaration), requirement_(requirement_of(data, declaration)) {}

void Judge::judge_values(const SubjectRun& run, Verdict& verdict) const {
  const Requirement& due = requirement_;
  Comparison compared = compare(run.output, due.due, due.rules);
  verdict.outputs = compared.outputs;
  verdict.mismatched = static_cast<std::int64_t>(compared.wrong.size());
  verdict.nan = compared.nan;
  verdict.inf = compared.inf;
  verdict.max_ulp = compared.max_ulp;
  verdict.worst = std::move(compared.worst);
  if (compared.outputs > 0) {
    verdict.singleton_share =
        static_cast<double>(compared.singletons) / static_cast<double>(compared.outputs);
  }
  verdict.telling = compared.telling;
  verdict.coverage = due.coverage;
  if (verdict.mismatched > 0) {
    verdict.where = describe_clusters(data_, compared.wrong);
    verdict.picture = picture_of(data_, compared.wrong);
    fail(verdict, fmt::format("{} of {} outputs are wrong", verdict.mismatched, verdict.outputs));
    return;  // what lies outside its interval does not follow the declaration either
  }
  if (!due.bits) return;
  BitsComparison bits = compare_bits(run.output, due.due.out, *due.bits, due.rules);
  verdict.bits_compared = static_cast<std::int64_t>(due.bits->index.size());
  verdict.bits_differ = static_cast<std::int64_t>(bits.wrong.size());
  if (verdict.bits_differ == 0) return;
  verdict.rule = due.bits_rule;
  verdict.worst = std::move(bits.worst);
  verdict.where = describe_clusters(data_, bits.wrong);
  verdict.picture = picture_of(data_, bits.wrong);
  fail(verdict, fmt::format("VER-17: {} of {} outputs lie inside their intervals, but not on the bits of "
                            "the declared arithmetic: {}",
                            verdict.bits_differ, verdict.bits_compared, first_of(verdict.worst, run.output)));
}

Verdict Judge::verdict(const SubjectRun& run) const {
  if (std::optional<Verdict> verdict = unended(run)) return *verdict;
  Verdict verdict;
  verdict.findings = run.findings;
  verdict.hardware = run.hardware;
  verdict.approximate = run.approximate;
  verdict.rule = requirement_.rule;
  if (requirement_.refused) {
    mistrust(verdict, "the reference refuses the case: " + requirement_.refused->message());
    return verdict;
  }
  check_run(run, verdict);
  if (!shape_fits(data_, run.output, verdict)) return verdict;
  verdict.proof = requirement_.proof;
  if (requirement_.unjudged) {
    if (verdict.status == VerdictStatus::kFailed) return verdict;
    verdict.status = requirement_.unjudged->status;
    verdict.reason = requirement_.unjudged->reason;
    return verdict;
  }
  check_rows(data_, requirement_.due, run, verdict);
  judge_values(run, verdict);

  // VER-13.
  if (verdict.status == VerdictStatus::kFailed) return verdict;
  if (declaration_.profile.empty()) {
    mistrust(verdict,
             "VER-8: undeclared profile; declare profile and order (\"profile\": \"once\", \"order\": "
             "\"seq\", …)");
  } else if (!may_be_vacuous(data_) && verdict.outputs >= kVacuityOutputs &&
             8 * verdict.telling < verdict.outputs) {  // VER-9
    mistrust(verdict,
             fmt::format("VER-9: only {} of {} outputs are finite, not zero and below the largest number",
                         verdict.telling, verdict.outputs));
  }
  return verdict;
}

Verdict judge(const CaseData& data, const Declaration& declaration, const SubjectRun& run) {
  if (std::optional<Verdict> verdict = unended(run)) return *verdict;
  return Judge(data, declaration).verdict(run);
}

}  // namespace moe4::oracle
