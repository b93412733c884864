#include "oracle/shrink/shrink.h"

#include <fmt/core.h>

#include <memory>

#include "oracle/cli/command.h"
#include "oracle/cli/fuzz_failure.h"
#include "oracle/cli/interrupt.h"
#include "oracle/cli/number_options.h"
#include "oracle/cli/subjects.h"

namespace moe4::oracle::cli {
namespace {

struct Options {
  std::string line;
  SubjectOptions subjects;
  double time = 60;
};

ExitCode shrink(const Options& options) {
  Result<Case> line = parse_case(options.line);
  if (!line.ok()) return refuse(line.error());
  Result<std::vector<std::unique_ptr<Subject>>> subjects = open_subjects(options.subjects);
  if (!subjects.ok()) return refuse(subjects.error());
  if (options.subjects.empty() || subjects->size() != 1) {
    return refuse(
        "shrink takes exactly one subject: --subject NAME, or --ptx, --command or --plugin with --declare "
        "FILE");
  }
  Subject& subject = *subjects->front();

  CaseResult result = evaluate(subject, *line);
  const VerdictStatus status = result.verdict.status;
  if (!is_red(status)) {
    fmt::print("{} {}: {}\n  there is nothing to shrink{}{}\n", name_of(status), result.subject,
               to_string(*line), result.verdict.reason.empty() ? "" : ": ", result.verdict.reason);
    return status == VerdictStatus::kPassed ? ExitCode::kPassed : ExitCode::kUnmet;
  }
  ShrinkLimits limits;
  limits.time = std::chrono::duration<double>(options.time);
  limits.stop = interrupted;
  finish_case_when_interrupted();
  print_failure(shrink_failure(subject, std::move(result), limits));
  return exit_code_of(status);
}

}  // namespace

void add_shrink(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("shrink", "Shrink a failing case line to a minimal one");
  auto options = std::make_shared<Options>();
  command->add_option("LINE", options->line, "A case line, quoted")->required();
  add_subject_options(*command, options->subjects);
  command->add_option("--time", options->time, "Seconds to search; default 60")->check(seconds());
  command->footer(
      "First the line is made simpler (smaller shape, simpler fill and routing), then the places that are "
      "not zero are\n"
      "narrowed through keep_tokens, keep_outputs, keep_groups and keep_codes. The result fails in the same "
      "way.\n"
      "Example:\n"
      "  moe4 shrink 'op=expert_linear weights=mxfp4 tokens=9 experts=8 top_k=2 in=256 out=33 dtype=bf16 "
      "fill=bits'\\\n"
      "       --subject mxfp4_linear_tile_bf16\n"
      "Exit code: as for the case itself, so 1 when it is wrong; 0 means that it does not fail.");
  command->callback([options, &code] { code = shrink(*options); });
}

}  // namespace moe4::oracle::cli
