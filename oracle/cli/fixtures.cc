#include <fmt/core.h>

#include <memory>

#include "oracle/cli/command.h"
#include "oracle/fixtures/catches.h"
#include "oracle/fixtures/fixture_set.h"
#include "oracle/fixtures/golden.h"

namespace moe4::oracle::cli {
namespace {

ExitCode list() {
  Result<std::vector<Golden>> all = golden_cases();
  if (!all.ok()) return refuse(all.error());
  for (const Golden& golden : *all) fmt::print("{:<22}  {}\n", golden.name, golden.purpose);
  return ExitCode::kPassed;
}

ExitCode write(const std::string& folder) {
  if (Status status = write_fixtures(folder)) return refuse(*status);
  fmt::print("{}: written; norm version {}\n", folder, kNormVersion);
  return ExitCode::kPassed;
}

ExitCode coverage() {
  Result<FixtureCoverage> found = fixture_coverage();
  if (!found.ok()) return refuse(found.error());
  fmt::print("{}", coverage_table(*found));
  const std::vector<std::string> gaps = found->gaps();
  for (const std::string& gap : gaps) fmt::print("{}\n", gap);
  return gaps.empty() ? ExitCode::kPassed : ExitCode::kUnmet;
}

ExitCode verify(const std::string& folder, bool quick) {
  Result<FixtureCheck> check = verify_fixtures(folder, quick ? FixtureDepth::kFiles : FixtureDepth::kFaults);
  if (!check.ok()) return refuse(check.error());
  for (const std::string& problem : check->problems) fmt::print("{}\n", problem);
  if (!check->problems.empty()) {
    fmt::print("FAILED: {} problems in {}\n", check->problems.size(), folder);
    return ExitCode::kMismatch;
  }
  fmt::print("PASSED: {} cases, {} files, norm version {}\n", check->cases, check->files, kNormVersion);
  return check->cases == 0 ? ExitCode::kUnmet : ExitCode::kPassed;
}

}  // namespace

void add_fixtures(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("fixtures", "Golden cases with the norm's results, as files");
  command->require_subcommand(1);
  command->footer(
      "A port to another back end reads NAME.case.safetensors, computes, and compares with "
      "NAME.result.safetensors\n"
      "(or lets moe4 check do that).\n"
      "Examples:\n"
      "  moe4 fixtures list\n"
      "  moe4 fixtures verify fixtures/golden\n"
      "  moe4 fixtures write /tmp/golden && (cd /tmp/golden && sha256sum -c SHA256SUMS)");
  command->add_subcommand("list", "Names, and what each is for")->callback([&code] { code = list(); });
  command
      ->add_subcommand("coverage",
                       "Which cases tell which fault; ends with 3 if one that could be told is not")
      ->callback([&code] { code = coverage(); });
  auto folder = std::make_shared<std::string>("fixtures/golden");
  CLI::App* write_command =
      command->add_subcommand("write", "Write the set; the same bytes on every machine");
  write_command->add_option("FOLDER", *folder, "Where to")->required();
  write_command->callback([folder, &code] { code = write(*folder); });
  CLI::App* verify_command = command->add_subcommand(
      "verify", "Checksums, every result recomputed, every byte as this build writes it");
  verify_command->add_option("FOLDER", *folder, "The set; default fixtures/golden");
  auto quick = std::make_shared<bool>(false);
  verify_command->add_flag("--quick", *quick, "Leave out which faults the cases tell (COVERAGE.md)");
  verify_command->callback([folder, quick, &code] { code = verify(*folder, *quick); });
  add_hardware_fixtures(*command, code);
}

}  // namespace moe4::oracle::cli
