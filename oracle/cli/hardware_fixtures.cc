#include <fmt/core.h>

#include <memory>

#include "oracle/case/nearest.h"
#include "oracle/cli/command.h"
#include "oracle/hardware/probe_ptx.h"
#include "oracle/subject/gpu/hardware_probes.h"

namespace moe4::oracle::cli {
namespace {

bool is_executor(const RecordedDevice& device) { return device.device == kExecutor; }

// The first line of whatever is said of a recording.
std::string origin(const RecordedDevice& device, const std::string& hardware) {
  if (is_executor(device)) {
    return fmt::format("device {} {}, which models {}: no chip was asked, nothing here is evidence about one",
                       device.device, device.version, hardware);
  }
  return fmt::format("device {}: {}, driver {}, toolkit {}, taken for {}", device.device, device.chip,
                     device.driver, device.toolkit, hardware);
}

ExitCode list() {
  for (const Probe& probe : probes()) {
    fmt::print("{:<54}  {:<7}  {}\n", probe.name, probe.target, probe.bound.text);
  }
  return ExitCode::kPassed;
}

ExitCode print_ptx(const std::string& name) {
  const Probe* probe = find_probe(name);
  if (probe == nullptr) {
    std::vector<std::string> known;
    for (const Probe& p : probes()) known.push_back(p.name);
    return refuse(
        Error{"probe", name, "no such instruction; the nearest known one is " + nearest_name(name, known)});
  }
  fmt::print("{}", probe_ptx(*probe));
  return ExitCode::kPassed;
}

struct RecordOptions {
  RecordSettings settings;
  std::string device = kExecutor, folder;
};

ExitCode record(const RecordOptions& options) {
  if (options.device != kExecutor) {
    return refuse(Error{"--device", options.device, "this build drives the executor only"});
  }
  const std::unique_ptr<gpu::Device> device = gpu::make_executor_device();
  Result<Recorded> recorded = record_probes(*device, options.settings, options.folder);
  if (!recorded.ok()) return refuse(recorded.error());
  fmt::print("{}\n", origin(recorded_device(*device), options.settings.hardware));
  for (const std::string& probe : recorded->left_out) fmt::print("left out: {}\n", probe);
  fmt::print("{}: {} instructions recorded, {} left out\n", options.folder, recorded->probes.size(),
             recorded->left_out.size());
  return recorded->probes.empty() ? ExitCode::kUnmet : ExitCode::kPassed;
}

void print(const ProbeComparison& comparison) {
  const Probe& probe = *comparison.probe;
  const bool exact = probe.bound.kind == ProbeBound::Kind::kExact;
  std::string text =
      fmt::format("{:<54}  {} results: {} equal", probe.name, comparison.results, comparison.equal);
  if (comparison.nan_payloads > 0) text += fmt::format(", {} NaNs of other bits", comparison.nan_payloads);
  if (!exact) text += fmt::format(", {} within the bound ({})", comparison.within, probe.bound.text);
  if (comparison.model()) text += fmt::format(", {} DIFFERENT", comparison.different);
  fmt::print("{}\n", text);
  for (const std::string& line : comparison.first) fmt::print("  MODEL: {} {}\n", probe.name, line);
}

ExitCode compare(const std::string& folder) {
  Result<RecordingsCompared> compared = compare_recordings(folder);
  if (!compared.ok()) return refuse(compared.error());
  const std::string from = origin(compared->device, compared->hardware);
  fmt::print("{}\n", from);
  std::size_t differ = 0, approximate = 0;
  for (const ProbeComparison& comparison : compared->probes) {
    print(comparison);
    if (comparison.model()) ++differ;
    if (comparison.probe->bound.kind != ProbeBound::Kind::kExact) ++approximate;
  }
  for (const std::string& probe : compared->missing) fmt::print("{:<54}  not recorded\n", probe);
  const std::string counts = fmt::format(
      "{} of {} instructions compared with the executor, {} of them approximate and held to a bound only",
      compared->probes.size(), probes().size(), approximate);
  if (differ > 0) {
    fmt::print("MODEL: {} differ; {}\n{}\n", differ, counts, from);
    return ExitCode::kMismatch;
  }
  if (!compared->missing.empty()) {
    fmt::print("INCOMPLETE: {} instructions that the device has are not recorded; {}\n{}\n",
               compared->missing.size(), counts, from);
    return ExitCode::kUnmet;
  }
  fmt::print("PASSED: {}\n{}\n", counts, from);
  return ExitCode::kPassed;
}

}  // namespace

void add_hardware_fixtures(CLI::App& fixtures, ExitCode& code) {
  CLI::App* command = fixtures.add_subcommand(
      "hardware", "Single instructions: what a device answers, against what the executor answers");
  command->require_subcommand(1);
  command->footer(
      "A difference is MODEL, and exit code 1: the executor has a chip wrong, and no kernel is at fault. A "
      "folder "
      "that\nlacks an instruction is INCOMPLETE, and exit code 3.\n"
      "Examples:\n"
      "  moe4 fixtures hardware list\n"
      "  moe4 fixtures hardware record --device executor --hardware hopper --out /tmp/hopper\n"
      "  moe4 fixtures hardware compare /tmp/hopper");
  command->add_subcommand("list", "The instructions, and how their results are compared")->callback([&code] {
    code = list();
  });

  auto name = std::make_shared<std::string>();
  CLI::App* ptx_command = command->add_subcommand("ptx", "The module that a probe runs");
  ptx_command->add_option("NAME", *name, "As list prints it")->required();
  ptx_command->callback([name, &code] { code = print_ptx(*name); });

  auto options = std::make_shared<RecordOptions>();
  CLI::App* record_command = command->add_subcommand("record", "Run every probe and write down the bits");
  record_command->add_option("--device", options->device, "Who is asked; default executor");
  record_command->add_option(
      "--hardware", options->settings.hardware,
      "Whose tensor cores the executor models: ampere, ada, hopper, …; default hopper");
  record_command->add_option("--seed", options->settings.seed, "Of the operands; default 1");
  record_command->add_option("--count", options->settings.count, "Instances of a scalar probe; default 1024")
      ->check(CLI::Range(1, 1 << 20));
  record_command->add_option("--out", options->folder, "Where to; one file a probe")->required();
  record_command->callback([options, &code] { code = record(*options); });

  auto folder = std::make_shared<std::string>();
  CLI::App* compare_command =
      command->add_subcommand("compare", "Recorded bits against the executor's; 1 when they differ");
  compare_command->add_option("FOLDER", *folder, "A folder of recordings")->required();
  compare_command->callback([folder, &code] { code = compare(*folder); });
}

}  // namespace moe4::oracle::cli
