#include "oracle/cli/selftest_faults.h"

#include <fmt/core.h>

#include "oracle/cli/case_lines.h"
#include "oracle/cli/command.h"
#include "oracle/cli/progress.h"
#include "oracle/faults/kill_text.h"
#include "oracle/report/write_file.h"

namespace moe4::oracle::cli {

void add_fault_options(CLI::App& command, FaultOptions& options, CLI::Option* mutated) {
  command
      .add_option("--fault", options.faults,
                  "Only this fault (docs/faults.md); repeatable; then no healthy controls")
      ->take_all()
      ->excludes(mutated);
  command
      .add_option(
          "--control", options.controls,
          "Only this healthy kernel: 'ARITHMETIC', or 'ARITHMETIC as ARITHMETIC' for what it computes "
          "and what it declares (docs/declaration.md); repeatable; then no faults but those of --fault")
      ->take_all()
      ->excludes(mutated);
  command
      .add_option("--cases", options.cases,
                  "A case line or @LIST, in place of the lists of smoke and ci; with --control alone "
                  "of the cases of healthy kernels")
      ->excludes(mutated);
  command.add_flag("--quick", options.quick, "Neither shrink what was caught nor name it")->excludes(mutated);
  command.add_option("--json", options.json, "Also write the kill table as JSON to this file")
      ->excludes(mutated);
  command.add_flag("--list", options.list, "Print the catalogue of faults and end")->excludes(mutated);
}

ExitCode selftest_faults(const FaultOptions& options, std::uint64_t seed) {
  if (options.list) {
    fmt::print("{}", catalogue_markdown());
    return ExitCode::kPassed;
  }
  Progress progress;
  SelftestOptions settings;
  settings.seed = seed;
  settings.only = options.faults;
  settings.shrink = settings.name = !options.quick;
  settings.plant = options.controls.empty() || !options.faults.empty();
  if (!options.faults.empty() || !options.controls.empty()) settings.controls.clear();
  for (const std::string& text : options.controls) {
    Result<Control> control = parse_control(text);
    if (!control.ok()) return refuse("--control '" + text + "': " + control.error().message());
    settings.controls.push_back(std::move(*control));
  }
  if (!options.cases.empty()) {
    Result<std::vector<Case>> cases = read_case_lines(options.cases);
    if (!cases.ok()) return refuse(cases.error());
    settings.cases = std::move(*cases);
  }
  settings.progress = [&](const std::string& doing) { progress.show(doing); };
  const Result<SelftestReport> report = run_selftest(settings);
  if (!report.ok()) return refuse(report.error());
  fmt::print("{}", fault_table(*report));
  if (!options.json.empty()) {
    if (Status status = write_file(options.json, selftest_json(*report))) return refuse(*status);
  }
  return report->passed() ? ExitCode::kPassed : ExitCode::kSelfTest;
}

}  // namespace moe4::oracle::cli
