#include <fmt/core.h>

#include <memory>

#include "gpu/device/cuda_device.h"
#include "oracle/case/nearest.h"
#include "oracle/cli/command.h"
#include "oracle/cli/subjects.h"
#include "oracle/hardware/probe_ptx.h"
#include "oracle/subject/gpu/cuda_subject.h"
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
  gpu::CudaSettings cuda;
};

// The device that is asked, and settings.hardware as it is: a chip is of its own generation, whatever was
// said.
Result<std::unique_ptr<gpu::Device>> asked_device(const RecordOptions& options, RecordSettings& settings) {
  if (options.device == kExecutor) {
    if (settings.hardware.empty()) settings.hardware = "hopper";
    return gpu::make_executor_device();
  }
  const gpu::OpenedCuda opened = gpu::open_cuda(options.cuda, false);
  if (!opened.session) return Error{"--device", options.device, opened.error};
  const gpu::CudaChip& chip = opened.session->chip();
  const std::string generation = generation_of(chip.capability);
  if (generation.empty()) return Error{"--device", chip.name, "ACC-14 has no rule for its tensor cores"};
  if (!settings.hardware.empty() && settings.hardware != generation) {
    return Error{"--hardware", settings.hardware, chip.name + " is of the generation " + generation};
  }
  settings.hardware = generation;
  gpu::MadeCudaDevice made = gpu::make_cuda_device(options.cuda);
  if (!made.device) return Error{"--device", options.device, made.error};
  return std::unique_ptr<gpu::Device>(std::move(made.device));
}

ExitCode record(const RecordOptions& options) {
  RecordSettings settings = options.settings;
  Result<std::unique_ptr<gpu::Device>> device = asked_device(options, settings);
  if (!device.ok()) return refuse(device.error());
  Result<Recorded> recorded = record_probes(**device, settings, options.folder);
  if (!recorded.ok()) return refuse(recorded.error());
  fmt::print("{}\n", origin(recorded_device(**device), settings.hardware));
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
  options->settings.hardware.clear();
  CLI::App* record_command = command->add_subcommand("record", "Run every probe and write down the bits");
  record_command->add_option("--device", options->device, "Who is asked: executor or cuda; default executor")
      ->check(CLI::IsMember({"executor", "cuda"}));
  add_cuda_options(*record_command, options->cuda);
  record_command->add_option(
      "--hardware", options->settings.hardware,
      "Whose tensor cores the executor models: ampere, ada, hopper, …; default hopper, on a GPU its own");
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
