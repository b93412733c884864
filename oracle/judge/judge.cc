#include <fmt/format.h>

#include <algorithm>

#include "oracle/case/norm.h"
#include "oracle/case/output_rows.h"
#include "oracle/generate/generate.h"
#include "oracle/judge/clusters.h"
#include "oracle/judge/compare.h"
#include "oracle/judge/coverage.h"
#include "oracle/judge/due.h"
#include "oracle/judge/verdict.h"
#include "oracle/judge/written.h"
#include "oracle/subject/arithmetic_words.h"

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
    case SubjectRun::Outcome::kCrashed:
      return VerdictStatus::kCrashed;
    case SubjectRun::Outcome::kTimeout:
      return VerdictStatus::kTimeout;
    case SubjectRun::Outcome::kError:
      return VerdictStatus::kFailed;
  }
  return VerdictStatus::kFailed;
}

// 8 or 24 for an exact fill, 0 for others.
int exact_bits(const CaseData& data) {
  if (!data.line) return 0;
  if (data.line->fill == Fill::kExact8) return 8;
  if (data.line->fill == Fill::kExact24) return 24;
  return 0;
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

// VER-8.
Arithmetic arithmetic_of(const Declaration& declaration) {
  if (!declaration.profile.empty()) return declaration.arithmetic;
  Arithmetic undeclared;
  undeclared.product_rounded = true;
  return undeclared;
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

// VER-3: is this the arithmetic for which the proof gives the norm's bits?
bool norm_is_due(const Arithmetic& arithmetic, int bits) {
  if (bits == 0 || arithmetic.ftz || arithmetic.dequant != Int4Order::kNorm) return false;
  const bool rounds_on_the_way =
      arithmetic.profile != RoundingProfile::kOnce || arithmetic.order.slicing == Order::Slicing::kStreamK;
  return bits == 8 || !rounds_on_the_way;
}

void mistrust(Verdict& verdict, std::string reason) {
  verdict.status = VerdictStatus::kMistrusted;
  verdict.reason = std::move(reason);
}

}  // namespace

Verdict judge(const CaseData& data, const Declaration& declaration, const SubjectRun& run) {
  Verdict verdict;
  verdict.findings = run.findings;
  if (const auto status = status_of(run.outcome)) {
    verdict.status = *status;
    verdict.rule = "VER-1: the run did not end";
    verdict.reason = run.reason;
    return verdict;
  }

  if (const Status error = validate(data)) {
    verdict.rule = "VAL: the case itself";
    mistrust(verdict, "the reference refuses the case: " + error->message());
    return verdict;
  }
  check_run(run, verdict);
  if (!shape_fits(data, run.output, verdict)) return verdict;

  const int bits = exact_bits(data);
  const Arithmetic arithmetic = arithmetic_of(declaration);
  const bool exact = norm_is_due(arithmetic, bits);
  const bool undeclared = declaration.profile.empty();
  const bool any_unit = undeclared || declaration.any_accumulation;

  if (exact) {
    verdict.rule = fmt::format("VER-3: bits equal the norm's (exact{})", bits);
    verdict.proof = prove_exact(data, bits);
    if (!verdict.proof->proved) {
      if (verdict.status == VerdictStatus::kFailed) return verdict;
      verdict.status = VerdictStatus::kNotExact;
      verdict.reason = fmt::format("the fill is not exact: {:.6g} units, the limit is {:.6g}",
                                   verdict.proof->largest_units, verdict.proof->limit_units);
      return verdict;
    }
  } else {
    verdict.rule = "VER-4: inside the proved interval (" + arithmetic_words(arithmetic) +
                   (any_unit ? ", accumulation=any)" : ")");
  }
  Result<Due> due = exact      ? bits_due(data)
                    : any_unit ? interval_due_of_any_unit(data, arithmetic)
                               : interval_due(data, arithmetic);
  if (!due.ok()) {
    if (verdict.status == VerdictStatus::kFailed) return verdict;
    mistrust(verdict, "VER-8: no bound: " + due.error().message());
    return verdict;
  }
  check_rows(data, *due, run, verdict);

  CompareRules rules;
  rules.strict_zero = data.policy.zero == ZeroCompare::kStrict || declaration.zero == ZeroCompare::kStrict;
  rules.skip_nonfinite = !declaration.nonfinite_ieee;
  Comparison compared = compare(run.output, *due, rules);
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
  verdict.coverage = cover(data, *due, exact, rules);

  // VER-13.
  if (verdict.mismatched > 0) {
    verdict.where = describe_clusters(data, compared.wrong);
    fail(verdict, fmt::format("{} of {} outputs are wrong", verdict.mismatched, verdict.outputs));
  }
  if (verdict.status == VerdictStatus::kFailed) return verdict;
  if (undeclared) {
    mistrust(verdict,
             "VER-8: undeclared profile; declare profile and order (\"profile\": \"once\", \"order\": "
             "\"seq\", …)");
  } else if (!may_be_vacuous(data) && compared.outputs >= kVacuityOutputs &&
             8 * compared.telling < compared.outputs) {  // VER-9
    mistrust(verdict,
             fmt::format("VER-9: only {} of {} outputs are finite, not zero and below the largest number",
                         compared.telling, compared.outputs));
  }
  return verdict;
}

}  // namespace moe4::oracle
