#include "oracle/judge/hold_twin.h"

#include <fmt/format.h>

#include "oracle/case/output_rows.h"
#include "oracle/judge/clusters.h"
#include "oracle/judge/encodings.h"

namespace moe4::oracle {
namespace {

bool same(const Encodings& encodings, std::uint64_t a, std::uint64_t b, bool strict) {
  if (a == b || (encodings.is_nan(a) && encodings.is_nan(b))) return true;
  return !strict && encodings.is_zero(a) && encodings.is_zero(b);  // VER-5
}

// Flat indices of the counted outputs in which the two differ.
std::vector<std::int64_t> differing(const CaseData& data, const Tensor& a, const Tensor& b, bool strict,
                                    std::int64_t& compared) {
  const Encodings encodings(a.dtype());
  const std::int64_t out = output_shape(data).out;
  std::vector<std::int64_t> found;
  for (const OutputRow& row : output_rows(data)) {
    for (std::int64_t at = row.row * out; at < (row.row + 1) * out; ++at, ++compared) {
      if (!same(encodings, encodings.load(a, at), encodings.load(b, at), strict)) found.push_back(at);
    }
  }
  return found;
}

// Of the same kernel, without what the model of the chip has a part in: the bits, and which unit multiplied.
Declaration on_any_chip(Declaration declaration) {
  declaration.any_accumulation = declaration.any_accumulation ||
                                 declaration.arithmetic.accumulation.kind == Accumulation::Kind::kTensorCore;
  declaration.bits_declared = false;
  return declaration;
}

}  // namespace

void hold_twin(const CaseData& data, const Declaration& declaration, const SubjectRun& run,
               const SubjectRun& twin, Verdict& verdict) {
  if (twin.outcome != SubjectRun::Outcome::kRan) {
    verdict.where.push_back("not compared with the executor: " + twin.reason);
    return;
  }
  if (run.output.dtype() != twin.output.dtype() || run.output.elements() != twin.output.elements()) return;
  const bool strict = data.policy.zero == ZeroCompare::kStrict || declaration.zero == ZeroCompare::kStrict;
  const std::vector<std::int64_t> differ =
      differing(data, run.output, twin.output, strict, verdict.twin_compared);
  verdict.twin_differ = static_cast<std::int64_t>(differ.size());
  if (differ.empty()) {
    if (verdict.mismatched > 0) verdict.where.push_back("the executor has the same bits in every output");
    return;
  }
  const Encodings encodings(run.output.dtype());
  const std::int64_t out = output_shape(data).out, first = differ.front();
  const std::string text = fmt::format(
      "{} of {} outputs have other bits than on the executor, the first [{},{}]: {} there, {} here",
      differ.size(), verdict.twin_compared, first / out, first % out,
      encodings.text(encodings.load(twin.output, first)), encodings.text(encodings.load(run.output, first)));
  const bool exact = verdict.proof && verdict.proof->proved;
  const bool executor_right = judge(data, declaration, twin).status != VerdictStatus::kFailed;
  const bool possible = judge(data, on_any_chip(declaration), run).status != VerdictStatus::kFailed;
  if (exact || !executor_right || !possible) {
    verdict.where.push_back(text + (executor_right ? "; the executor's are right" : ""));
    return;
  }
  verdict.status = VerdictStatus::kModel;
  verdict.rule = "VER-21: executor and GPU give the same bits";
  verdict.reason = text + "; both are bits that a kernel of this declaration can return";
  verdict.where = describe_clusters(data, differ);
}

}  // namespace moe4::oracle
