#include <fmt/core.h>

#include <memory>

#include "oracle/cli/case_lines.h"
#include "oracle/cli/command.h"
#include "oracle/cli/interrupt.h"
#include "oracle/cli/progress.h"
#include "oracle/cli/run.h"
#include "oracle/gate/batches.h"
#include "oracle/gate/evaluate.h"
#include "oracle/judge/report_text.h"

namespace moe4::oracle::cli {
namespace {

struct Options {
  std::string lines;
  SubjectOptions subjects;
};

void print_result(const CaseResult& result) {
  const Verdict& v = result.verdict;
  if (is_red(v.status)) {
    fmt::print("{}\n", result.failure);
  } else if (v.status == VerdictStatus::kPassed) {
    fmt::print(
        "PASSED {}: {}\n  {} outputs, bits due for {:.1f} %, max {:g} ulp from the norm, {} pairs covered\n",
        result.subject, to_string(result.line), v.outputs, 100 * v.singleton_share, v.max_ulp,
        v.coverage.count());
    if (v.bits_compared > 0) {
      fmt::print("  {} outputs have the bits of the declared arithmetic\n", v.bits_compared);
    }
    if (v.twin_compared > 0) fmt::print("  {} outputs have the bits of the executor\n", v.twin_compared);
    if (v.proof && v.proof->proved) {
      fmt::print("  exact: largest sum {:g} units of at most {:g}\n", v.proof->largest_units,
                 v.proof->limit_units);
    }
    fmt::print("{}", device_lines(v));
    if (result.thread_instructions > 0) {
      fmt::print("  {} thread instructions, {:.3f} s\n", result.thread_instructions, result.seconds);
    }
  } else {
    fmt::print("{} {}: {}\n  {}\n", name_of(v.status), result.subject, to_string(result.line), v.reason);
  }
}

}  // namespace

ExitCode run_cases(const std::string& lines, const SubjectOptions& options) {
  Result<std::vector<Case>> cases = read_case_lines(lines);
  if (!cases.ok()) return refuse(cases.error());
  Result<std::vector<std::unique_ptr<Subject>>> subjects = open_subjects(options);
  if (!subjects.ok()) return refuse(subjects.error());

  Progress progress;
  ExitCode code = ExitCode::kPassed;
  std::int64_t ran = 0, done = 0, skipped = 0;
  std::vector<Subject*> pointers;
  for (const auto& subject : *subjects) pointers.push_back(subject.get());
  finish_case_when_interrupted();
  for_each_case(pointers, *cases, interrupted, [&](const Case& line, const CaseSource& data) {
    if (interrupted() || code == ExitCode::kUsage) return;
    if (!data().ok()) {
      code = refuse(to_string(line) + ": " + data().error().message());
      return;
    }
    for (Subject* subject : pointers) {
      if (interrupted()) return;
      progress.show(
          fmt::format("{}/{} {}", ++done, cases->size() * subjects->size(), subject->declaration().name));
      CaseResult result = evaluate(*subject, line, *data());
      if (is_small(*data())) hold_relations(*subject, *data(), result);
      skipped += result.verdict.status == VerdictStatus::kSkipped;
      ran += result.verdict.status != VerdictStatus::kUnsupported &&
             result.verdict.status != VerdictStatus::kSkipped;
      code = more_urgent(code, exit_code_of(result.verdict.status));
      print_result(result);
    }
  });
  if (code == ExitCode::kUsage) return code;
  if (interrupted()) {
    fmt::print("INTERRUPTED: {}; {} runs were made\n", interruption(), ran);
  } else if (ran == 0) {
    fmt::print("NOTHING RAN: {}\n",
               skipped > 0 ? "every run was skipped" : "no subject accepts any of these cases");
  }
  return ran == 0 || skipped > 0 || interrupted() ? more_urgent(code, ExitCode::kUnmet) : code;
}

void add_run(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("run", "Run and judge one case line, or a list of them");
  auto options = std::make_shared<Options>();
  command->add_option("CASE", options->lines, "A case line, quoted, or @FILE with one line a case")
      ->required();
  add_subject_options(*command, options->subjects);
  command->footer(
      "This is the replay command that failures print.\n"
      "Examples:\n"
      "  moe4 run 'op=expert_linear weights=mxfp4 tokens=3 experts=4 top_k=2 in=96 out=8 dtype=bf16 "
      "fill=exact8 "
      "seed=0x2a'\n"
      "  moe4 run @cases.txt --subject mxfp4_linear_warp_bf16\n"
      "No floors are judged here; the gate does that.");
  command->callback([options, &code] { code = run_cases(options->lines, options->subjects); });
}

}  // namespace moe4::oracle::cli
