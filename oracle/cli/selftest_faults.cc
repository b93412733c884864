#include "oracle/cli/selftest_faults.h"

#include <fmt/core.h>

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
  settings.controls = options.faults.empty();
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
