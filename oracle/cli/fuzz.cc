#include "oracle/gate/fuzz.h"
#include "oracle/case/counted.h"

#include <fmt/core.h>

#include <cstdio>
#include <memory>

#include "oracle/cli/command.h"
#include "oracle/cli/fuzz_failure.h"
#include "oracle/cli/interrupt.h"
#include "oracle/cli/number_options.h"
#include "oracle/cli/progress.h"
#include "oracle/cli/regressions.h"
#include "oracle/cli/subjects.h"

namespace moe4::oracle::cli {
namespace {

struct Options {
  double time = 60;
  std::uint64_t seed = 1;
  std::int64_t cases = 0;
  std::string regressions;
  SubjectOptions subjects;
};

ExitCode fuzz(const Options& options) {
  Result<std::vector<std::unique_ptr<Subject>>> subjects = open_subjects(options.subjects);
  if (!subjects.ok()) return refuse(subjects.error());
  if (!options.regressions.empty()) {
    if (Result<std::vector<Case>> lines = read_regressions(options.regressions); !lines.ok()) {
      return refuse(lines.error());
    }
  }
  std::vector<Subject*> pointers;
  for (const auto& subject : *subjects) pointers.push_back(subject.get());

  Progress progress;
  ExitCode code = ExitCode::kPassed;
  FuzzOptions settings;
  settings.time = std::chrono::duration<double>(options.time);
  settings.seed = options.seed;
  settings.cases = options.cases;
  settings.progress = [&](std::int64_t cases, const Case& line, const std::string& subject) {
    progress.show(fmt::format("{} cases, {} {}", cases, subject, to_string(line)));
  };
  const auto keep = [&](const CaseResult& failed, const Case* instead) {
    if (options.regressions.empty()) return;
    if (Status status = append_regression(options.regressions, failed, instead)) {
      code = more_urgent(code, refuse(*status));
    }
  };
  settings.failed = [&](const CaseResult& failed) { keep(failed, nullptr); };
  settings.stop = interrupted;
  finish_case_when_interrupted();
  settings.found = [&](const FuzzFailure& failure) {
    print_failure(failure);
    std::fflush(stdout);
    keep(failure.minimal, &failure.found.line);
  };
  const FuzzReport report = run_fuzz(pointers, settings);
  fmt::print("{}: {} drawn with seed {}, {} of {}, {}, {:.1f} s\n",
             report.failures.empty() ? (report.runs == 0 ? "NOTHING RAN" : "PASSED") : "FAILED",
             counted(report.cases, "case"), options.seed, counted(report.runs, "judged run"),
             counted(static_cast<std::int64_t>(subjects->size()), "subject"),
             counted(static_cast<std::int64_t>(report.failures.size()), "failure"), report.seconds);
  if (report.unusable > 0) {
    fmt::print("{} drawn cases could not be generated and count for nothing\n", report.unusable);
  }
  if (report.weak > 0) {
    fmt::print("{} more runs say little (MISTRUSTED or NOT_EXACT) and count for nothing\n", report.weak);
  }
  if (interrupted()) {
    fmt::print("INTERRUPTED: {}\n", interruption());
    code = more_urgent(code, ExitCode::kUnmet);
  }
  return more_urgent(code, report.exit_code());
}

}  // namespace

void add_fuzz(CLI::App& app, ExitCode& code) {
  CLI::App* command =
      app.add_subcommand("fuzz", "Draw random cases until one fails, and shrink it to one line");
  auto options = std::make_shared<Options>();
  command->add_option("--time", options->time, "Seconds to go on; default 60")->check(seconds());
  command->add_option("--seed", options->seed, "Which sequence of cases; default 1")->check(seed());
  command->add_option("--cases", options->cases, "Stop after so many cases; default: only the time counts")
      ->check(CLI::PositiveNumber);
  add_subject_options(*command, options->subjects);
  command->add_option("--regressions", options->regressions,
                      "Append the minimal line of each failure to this list");
  command->footer(
      "Only what a subject's declaration accepts is drawn. Each failure is printed when it has been shrunk, "
      "as the case\n"
      "line, the report and the command that shows it again; its subject then rests.\n"
      "Examples:\n"
      "  moe4 fuzz --time 600 --seed 7\n"
      "  moe4 fuzz --subject mxfp4_linear_tile_bf16 --regressions fixtures/regressions/tile.cases");
  command->callback([options, &code] { code = fuzz(*options); });
}

}  // namespace moe4::oracle::cli
