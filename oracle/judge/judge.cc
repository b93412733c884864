#include <fmt/format.h>

#include <algorithm>

#include "oracle/generate/generate.h"
#include "oracle/judge/clusters.h"
#include "oracle/judge/compare.h"
#include "oracle/judge/coverage.h"
#include "oracle/judge/verdict.h"

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

// VER-3: the norm's bits and nothing else.
Result<std::vector<OutputInterval>> bits_due(const CaseData& data) {
  const ExpertLinearInputs inputs = data.inputs();
  Tensor norm(data.latent_tokens.dtype(), {data.latent_tokens.dim(0), data.packed_weights.dim(1)});
  if (const Status error = mxfp4_expert_linear(inputs, norm.mutable_view(), data.policy)) return *error;
  const Encodings encodings(norm.dtype());
  std::vector<OutputInterval> due(static_cast<std::size_t>(norm.elements()));
  for (std::int64_t k = 0; k < norm.elements(); ++k) {
    OutputInterval& y = due[static_cast<std::size_t>(k)];
    y.exact = encodings.load(norm, k);
    y.lo = y.exact;
    y.hi = y.exact;
    if (encodings.is_nan(y.exact)) y.cls = OutputClass::kNan;
  }
  return due;
}

void fail(Verdict& verdict, std::string reason) {
  verdict.status = VerdictStatus::kFailed;
  verdict.reason += (verdict.reason.empty() ? "" : "; ") + std::move(reason);
}

// VER-7.
void check_run(const SubjectRun& run, Verdict& verdict) {
  verdict.unwritten = std::count(run.unwritten.begin(), run.unwritten.end(), true);
  if (verdict.unwritten > 0)
    fail(verdict, fmt::format("VER-7: {} outputs were not written", verdict.unwritten));
  if (!run.inputs_unchanged) fail(verdict, "VER-7: an input was changed");
  if (!run.findings.empty()) {
    const std::string more =
        run.findings.size() > 1 ? fmt::format(" and {} more", run.findings.size() - 1) : "";
    fail(verdict, fmt::format("VER-7: the device reports {}{}", run.findings.front().check, more));
  }
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

  const Result<ExpertLinearDims> dims = validate_mxfp4_expert_linear(data.inputs(), data.policy);
  if (!dims.ok()) {
    verdict.rule = "VAL: the case itself";
    mistrust(verdict, "the reference refuses the case: " + dims.error().message());
    return verdict;
  }

  const Shape shape = {data.latent_tokens.dim(0), data.packed_weights.dim(1)};
  const Dtype dtype = data.latent_tokens.dtype();
  if (run.output.dtype() != dtype || run.output.shape() != shape) {
    verdict.rule = "VER-2: dtype and shape of the output";
    fail(verdict, fmt::format("expected {} {}, got {} {}", name_of(dtype), moe4::to_string(shape),
                              name_of(run.output.dtype()), moe4::to_string(run.output.shape())));
    check_run(run, verdict);
    return verdict;
  }
  check_run(run, verdict);

  const int bits = exact_bits(data);
  const bool exact = bits != 0 && !declaration.arithmetic.ftz;
  const Arithmetic arithmetic = arithmetic_of(declaration);
  const bool undeclared = declaration.profile.empty();
  const bool unknown = !undeclared && declaration.profile != "once" && !(exact && bits == 8);

  std::vector<OutputInterval> due;
  if (exact) {  // VER-3
    verdict.rule = fmt::format("VER-3: bits equal the norm's (exact{})", bits);
    verdict.proof = prove_exact(data, bits);
    if (!verdict.proof->proved) {
      if (verdict.status == VerdictStatus::kFailed) return verdict;
      verdict.status = VerdictStatus::kNotExact;
      verdict.reason = fmt::format("the fill is not exact: {:.6g} units, the limit is {:.6g}",
                                   verdict.proof->largest_units, verdict.proof->limit_units);
      return verdict;
    }
    Result<std::vector<OutputInterval>> norm = bits_due(data);
    if (!norm.ok()) {
      fail(verdict, "the reference refuses the case: " + norm.error().message());
      return verdict;
    }
    due = std::move(*norm);
  } else {  // VER-4
    verdict.rule = fmt::format("VER-4: inside the proved interval (once, {}, products={}{})",
                               to_string(arithmetic.order), arithmetic.product_rounded ? "rounded" : "fma",
                               arithmetic.ftz ? ", ftz" : "");
    Result<OutputBounds> bounds = expert_linear_bounds(linear_inputs(data.inputs()), data.policy, arithmetic);
    if (!bounds.ok()) {
      if (verdict.status == VerdictStatus::kFailed) return verdict;
      mistrust(verdict, "no bound: " + bounds.error().message());
      return verdict;
    }
    due = std::move(bounds->outputs);
  }

  CompareRules rules;
  rules.strict_zero = data.policy.zero == ZeroCompare::kStrict || declaration.zero == ZeroCompare::kStrict;
  rules.skip_nonfinite = !declaration.nonfinite_ieee;
  Comparison compared = compare(run.output, due, rules);
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
  verdict.coverage = cover(data, due, exact, rules);

  // VER-13.
  if (verdict.mismatched > 0) {
    verdict.where = describe_clusters(data, compared.wrong);
    if (unknown) {
      if (verdict.status != VerdictStatus::kFailed) {
        mistrust(verdict, fmt::format("VER-8: there is no bound for profile \"{}\"", declaration.profile));
      }
      return verdict;
    }
    fail(verdict, fmt::format("{} of {} outputs are wrong", verdict.mismatched, verdict.outputs));
  }
  if (verdict.status == VerdictStatus::kFailed) return verdict;
  if (unknown) {
    mistrust(verdict, fmt::format("VER-8: there is no bound for profile \"{}\"", declaration.profile));
  } else if (undeclared) {
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
