#include "oracle/gate/evaluate.h"

#include "oracle/generate/generate.h"
#include "oracle/report/failure.h"

namespace moe4::oracle {

bool is_red(VerdictStatus status) {
  return status != VerdictStatus::kPassed && status != VerdictStatus::kSkipped &&
         status != VerdictStatus::kUnsupported;
}

bool is_red(const CaseResult& result) { return is_red(result.verdict.status) && result.known.empty(); }

CaseResult not_run(const Subject& subject, const Case& line, VerdictStatus status, std::string reason) {
  CaseResult result;
  result.subject = subject.declaration().name;
  result.selector = subject.selector();
  result.line = line;
  result.verdict.status = status;
  result.verdict.reason = std::move(reason);
  return result;
}

CaseResult evaluate(Subject& subject, const Case& line, const CaseData& data) {
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
  result.seconds = run.seconds;
  result.thread_instructions = run.thread_instructions;
  if (is_red(result.verdict.status)) {
    result.failure = failure_block(data, declaration, result.verdict, replay_command(line, result.selector));
  }
  return result;
}

CaseResult evaluate(Subject& subject, const Case& line) {
  if (std::optional<std::string> refusal = subject.declaration().refuses(line)) {
    return not_run(subject, line, VerdictStatus::kUnsupported, std::move(*refusal));
  }
  Result<CaseData> data = generate(line);
  if (!data.ok()) return not_run(subject, line, VerdictStatus::kSkipped, data.error().message());
  return evaluate(subject, line, *data);
}

}  // namespace moe4::oracle
