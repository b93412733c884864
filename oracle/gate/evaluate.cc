#include "oracle/gate/evaluate.h"

#include "oracle/case/output_rows.h"
#include "oracle/diagnose/diagnose.h"
#include "oracle/diagnose/first_step.h"
#include "oracle/generate/generate.h"
#include "oracle/judge/hold_relations.h"
#include "oracle/judge/hold_twin.h"
#include "oracle/report/failure.h"

namespace moe4::oracle {

bool is_red(VerdictStatus status) {
  return status != VerdictStatus::kPassed && status != VerdictStatus::kSkipped &&
         status != VerdictStatus::kUnsupported;
}

bool is_red(const CaseResult& result) { return is_red(result.verdict.status) && result.known.empty(); }

namespace {

// Where it goes wrong, and what it may be. Empty unless it is FAILED for its output or for what was written.
std::string explained(Subject& subject, const CaseData& data, const SubjectRun& run, const Verdict& verdict) {
  const std::string fault = fault_lines(data, subject.declaration(), run, verdict);
  if (fault.empty() || verdict.mismatched + verdict.bits_differ == 0 || !is_small(data)) return fault;
  const std::optional<FirstStep> step = first_step(subject, data, verdict, run.seconds);
  return (step ? first_step_text(data, *step) : "") + fault;
}

}  // namespace

CaseResult not_run(const Subject& subject, const Case& line, VerdictStatus status, std::string reason) {
  CaseResult result;
  result.subject = subject.declaration().name;
  result.selector = subject.selector();
  result.line = line;
  result.verdict.status = status;
  result.verdict.reason = std::move(reason);
  return result;
}

CaseResult evaluate(Subject& subject, const Case& line, const CaseData& data, NameFault name) {
  const Declaration& declaration = subject.declaration();
  if (std::optional<std::string> refusal = declaration.refuses(line)) {
    return not_run(subject, line, VerdictStatus::kUnsupported, std::move(*refusal));
  }
  const SubjectRun run = subject.run(data);
  CaseResult result;
  result.subject = declaration.name;
  result.selector = subject.selector();
  result.line = line;
  result.verdict = judge(data, declaration, run);
  if (Subject* twin = subject.twin(); twin != nullptr && run.outcome == SubjectRun::Outcome::kRan) {
    hold_twin(data, declaration, run, twin->run(data), result.verdict);
  }
  result.seconds = run.seconds;
  result.thread_instructions = run.thread_instructions;
  const bool model = result.verdict.status == VerdictStatus::kModel;  // no fault of the kernel
  if (name == NameFault::kYes && !model) result.verdict.fault = explained(subject, data, run, result.verdict);
  if (is_red(result.verdict.status)) {
    result.failure = failure_block(data, declaration, result.verdict, replay_command(line, result.selector));
  }
  return result;
}

bool is_small(const CaseData& data) {
  constexpr double kProducts = 1 << 22;
  double slots = 0;
  for (const OutputRow& row : output_rows(data)) slots += static_cast<double>(row.slots.size());
  return slots * static_cast<double>(output_shape(data).out) * static_cast<double>(in_of(data) + 1) <
         kProducts;
}

void hold_relations(Subject& subject, const CaseData& data, CaseResult& result) {
  if (result.verdict.status != VerdictStatus::kPassed) return;
  hold_relations(subject, data, result.verdict);
  if (!is_red(result.verdict.status)) return;
  result.failure = failure_block(data, subject.declaration(), result.verdict,
                                 replay_command(result.line, result.selector));
}

CaseResult evaluate(Subject& subject, const Case& line, NameFault name) {
  if (std::optional<std::string> refusal = subject.declaration().refuses(line)) {
    return not_run(subject, line, VerdictStatus::kUnsupported, std::move(*refusal));
  }
  Result<CaseData> data = generate(line);
  if (!data.ok()) return not_run(subject, line, VerdictStatus::kSkipped, data.error().message());
  return evaluate(subject, line, *data, name);
}

}  // namespace moe4::oracle
