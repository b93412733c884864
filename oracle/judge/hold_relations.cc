#include "oracle/judge/hold_relations.h"

#include <fmt/format.h>

#include <algorithm>

#include "oracle/case/output_rows.h"
#include "oracle/judge/clusters.h"
#include "oracle/judge/encodings.h"
#include "oracle/judge/relations.h"

namespace moe4::oracle {
namespace {

class Relations {
 public:
  Relations(const CaseData& data, const Declaration& declaration, const SubjectRun& first)
      : first_(first),
        encodings_(first.output.dtype()),
        out_(output_shape(data).out),
        strict_(data.policy.zero == ZeroCompare::kStrict || declaration.zero == ZeroCompare::kStrict) {}

  // Flat indices of the first case's outputs that `run` of `related` gives other bits.
  std::vector<std::int64_t> differing(const CaseData& related, const std::vector<std::int64_t>& twin,
                                      const SubjectRun& run) const {
    std::vector<std::int64_t> found;
    for (const OutputRow& row : output_rows(related)) {
      const std::int64_t before = twin[static_cast<std::size_t>(row.row)];
      if (before < 0) continue;
      for (std::int64_t o = 0; o < out_; ++o) {
        const std::uint64_t was = encodings_.load(first_.output, before * out_ + o);
        const std::uint64_t is = encodings_.load(run.output, row.row * out_ + o);
        if (!same(was, is)) found.push_back(before * out_ + o);
      }
    }
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  bool same(std::uint64_t a, std::uint64_t b) const {
    if (a == b || (encodings_.is_nan(a) && encodings_.is_nan(b))) return true;
    return !strict_ && encodings_.is_zero(a) && encodings_.is_zero(b);
  }

  const SubjectRun& first_;
  Encodings encodings_;
  std::int64_t out_;
  bool strict_;
};

// The run of a relation, if it came to an end; otherwise the verdict says how it did not.
bool ended(const SubjectRun& run, std::string_view name, Verdict& verdict) {
  if (run.outcome == SubjectRun::Outcome::kRan) return true;
  if (run.outcome == SubjectRun::Outcome::kUnsupported) return false;
  verdict.status = run.outcome == SubjectRun::Outcome::kCrashed   ? VerdictStatus::kCrashed
                   : run.outcome == SubjectRun::Outcome::kTimeout ? VerdictStatus::kTimeout
                                                                  : VerdictStatus::kFailed;
  verdict.reason = fmt::format("VER-19: {}: {}", name, run.reason);
  return false;
}

void fail(const CaseData& data, const std::vector<std::int64_t>& differing, const std::string& rule,
          const std::string& what, Verdict& verdict) {
  verdict.status = VerdictStatus::kFailed;
  verdict.rule = rule;
  verdict.reason = fmt::format("{}: {} outputs have other bits", what, differing.size());
  verdict.where = describe_clusters(data, differing);
}

}  // namespace

void hold_relations(Subject& subject, const CaseData& data, Verdict& verdict) {
  const Declaration& declaration = subject.declaration();
  const SubjectRun first = subject.run(data);
  if (!ended(first, "the case again", verdict)) return;
  const Relations relations(data, declaration, first);
  if (declaration.deterministic) {
    const SubjectRun again = subject.run(data);
    if (!ended(again, "the case again", verdict)) return;
    std::vector<std::int64_t> same_rows(static_cast<std::size_t>(output_shape(data).rows));
    for (std::size_t row = 0; row < same_rows.size(); ++row) same_rows[row] = static_cast<std::int64_t>(row);
    const auto differing = relations.differing(data, same_rows, again);
    if (!differing.empty()) {
      return fail(data, differing, "VER-18: two runs of one case give the same bits", "a second run",
                  verdict);
    }
  }
  const bool exact = verdict.proof && verdict.proof->proved;
  if (!exact && !declaration.invariant) return;
  for (const Related& related : related_cases(data, declaration)) {
    const SubjectRun run = subject.run(related.data);
    if (!ended(run, related.name, verdict)) {
      if (verdict.status != VerdictStatus::kPassed) return;
      continue;
    }
    if (run.output.dtype() != first.output.dtype() ||
        run.output.elements() != output_shape(related.data).rows * output_shape(related.data).out) {
      verdict.status = VerdictStatus::kFailed;
      verdict.reason = fmt::format("VER-19: {}: the output has another shape or dtype", related.name);
      return;
    }
    const auto differing = relations.differing(related.data, related.twin, run);
    if (!differing.empty()) {
      return fail(data, differing, "VER-19: the same bits whatever does not matter",
                  std::string(related.name), verdict);
    }
  }
}

}  // namespace moe4::oracle
