#include "oracle/subject/gpu/hardware_probes.h"

#include <fmt/core.h>

#include <algorithm>

#include "oracle/hardware/probe_ptx.h"
#include "oracle/subject/gpu/executor_tensor_core.h"
#include "reference/accumulate/tensor_core.h"

namespace moe4::oracle {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kBudget = std::uint64_t{1} << 26;  // warp instructions; a probe needs some thousand

// The least target of a generation, "sm_80" → 80; what is compiled for sm_90a runs there alone.
int target_of(const TensorCore& unit) {
  constexpr std::pair<std::string_view, int> kTargets[] = {{"volta", 70}, {"turing", 75}, {"ampere", 80},
                                                           {"ada", 89},   {"hopper", 90}, {"blackwell", 100}};
  for (const auto& [name, target] : kTargets) {
    if (name == unit.name) return target;
  }
  return 0;
}

// Why the device has no answer to a probe; empty: it has one. The executor runs every target on every chip.
std::string unanswerable(const TensorCore& unit, const Probe& probe, const std::string& device) {
  if (probe.form != Probe::Form::kScalar &&
      !multiplies(unit, probe.operands[0].type.name == "f16" ? Dtype::kF16 : Dtype::kBF16)) {
    return fmt::format("{} does not multiply {}", unit.name, probe.operands[0].type.name);
  }
  if (device == kExecutor) return "";
  const int own = target_of(unit);
  const bool only = probe.target.ends_with("a");
  const int least = std::stoi(probe.target.substr(3));
  return own < least || (only && own != least) ? fmt::format("{} is not for {}", probe.target, unit.name)
                                               : "";
}

// What the device saw is a fault of the probe, and its results are no evidence.
Status problem_of(const gpu::LaunchOutcome& outcome, const Probe& probe) {
  if (outcome.error) return Error{probe.name, *outcome.error, "the device runs every probe"};
  for (const ptx::Finding& finding : outcome.findings) {
    if (!finding.formal) return Error{probe.name, ptx::to_string(finding), "a probe has no findings"};
  }
  if (!outcome.completed) return Error{probe.name, "", "the launch did not complete"};
  return {};
}

}  // namespace

RecordedDevice recorded_device(const gpu::Device& device) {
  const gpu::DeviceIdentity identity = device.identity();
  const auto or_none = [](const std::string& text) { return text.empty() ? std::string(kNone) : text; };
  return {identity.device, identity.version, or_none(identity.chip), or_none(identity.driver),
          or_none(identity.toolkit)};
}

Result<std::vector<std::byte>> run_probe(gpu::Device& device, const Probe& probe,
                                         const ProbeOperands& operands, std::uint32_t count,
                                         const std::string& hardware) {
  const ptx::TensorCore* unit = executor_tensor_core(hardware);
  if (unit == nullptr) return Error{"hardware", hardware, "ACC-14: no such generation"};
  device.reset();
  const std::string text = probe_ptx(probe);
  gpu::KernelLaunch launch;
  launch.ptx = text;
  launch.module_name = probe.name;
  launch.entry = "probe";
  launch.block = {threads_of(probe), 1, 1};
  launch.grid = {probe.form == Probe::Form::kScalar ? (count + kScalarThreads - 1) / kScalarThreads : count,
                 1, 1};
  std::vector<std::byte> result(count * probe.result_bytes());
  const gpu::BufferId to = device.add_output("result", result.size());
  launch.arguments.push_back({gpu::Argument::Kind::kBuffer, to, 0});
  for (std::size_t n = 0; n < operands.size(); ++n) {
    if (probe.operands[n].immediate) continue;
    launch.arguments.push_back(
        {gpu::Argument::Kind::kBuffer,
         device.add_input(fmt::format("operand_{}", n), std::as_bytes(std::span(operands[n]))), 0});
  }
  launch.arguments.push_back({gpu::Argument::Kind::kU32, {}, count});
  gpu::LaunchSettings settings;
  settings.instruction_budget = kBudget;
  settings.tensor_core = unit;
  const gpu::LaunchOutcome outcome = device.launch(launch, settings);
  if (Status status = problem_of(outcome, probe)) {
    device.reset();
    return *status;
  }
  device.read(to, result);
  const std::vector<bool> written = device.written(to);
  const auto missing = std::count(written.begin(), written.end(), false);
  device.reset();
  if (missing > 0) return Error{probe.name, std::to_string(missing), "bytes of the result were not written"};
  return result;
}

Result<Recorded> record_probes(gpu::Device& device, const RecordSettings& settings, const fs::path& folder) {
  const TensorCore* unit = tensor_core(settings.hardware);
  if (unit == nullptr) return Error{"hardware", settings.hardware, "ACC-14: no such generation"};
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return Error{folder.string(), "", "cannot be written to: " + failed.message()};
  Recorded recorded;
  for (const Probe& probe : probes()) {
    if (const std::string why = unanswerable(*unit, probe, device.identity().device); !why.empty()) {
      recorded.left_out.push_back(probe.name + ": " + why);
      continue;
    }
    Recording recording;
    recording.probe = probe.name;
    recording.hardware = settings.hardware;
    recording.device = recorded_device(device);
    recording.seed = settings.seed;
    recording.count = settings.count;
    if (probe.form != Probe::Form::kScalar) {
      recording.count = std::max(settings.tiles, static_cast<std::uint32_t>(planted_products(probe)));
    }
    recording.operands = probe_operands(probe, recording.seed, recording.count);
    auto result = run_probe(device, probe, recording.operands, recording.count, settings.hardware);
    if (!result.ok()) return result.error();
    recording.result = std::move(*result);
    if (Status status = write_recording(folder / recording_name(probe.name), recording)) return *status;
    recorded.probes.push_back(probe.name);
  }
  return recorded;
}

Result<RecordingsCompared> compare_recordings(const fs::path& folder) {
  std::error_code failed;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    if (entry.path().string().ends_with(".probe.safetensors")) files.push_back(entry.path());
  }
  if (failed) return Error{folder.string(), "", "is no folder of recordings: " + failed.message()};
  if (files.empty()) return Error{folder.string(), "", "holds no *.probe.safetensors"};
  std::sort(files.begin(), files.end());

  const std::unique_ptr<gpu::Device> executor = gpu::make_executor_device();
  RecordingsCompared all;
  for (const fs::path& file : files) {
    Result<Recording> recording = read_recording(file);
    if (!recording.ok()) {
      const Error& error = recording.error();
      return Error{file.string() + ": " + error.field, error.value, error.rule};
    }
    if (all.probes.empty()) {
      all.device = recording->device;
      all.hardware = recording->hardware;
    } else if (all.device != recording->device || all.hardware != recording->hardware) {
      return Error{file.string(), recording->device.device + ", " + recording->hardware,
                   "all recordings of a folder are of one device and one generation"};
    }
    const Probe& probe = *find_probe(recording->probe);
    auto ours = run_probe(*executor, probe, recording->operands, recording->count, recording->hardware);
    if (!ours.ok()) return ours.error();
    all.probes.push_back(compare_probe(probe, *recording, *ours));
  }
  std::sort(all.probes.begin(), all.probes.end(),
            [](const ProbeComparison& a, const ProbeComparison& b) { return a.probe < b.probe; });
  const auto twice = std::adjacent_find(
      all.probes.begin(), all.probes.end(),
      [](const ProbeComparison& a, const ProbeComparison& b) { return a.probe == b.probe; });
  if (twice != all.probes.end()) return Error{folder.string(), twice->probe->name, "is recorded twice"};
  for (const Probe& probe : probes()) {
    const bool there = std::any_of(all.probes.begin(), all.probes.end(),
                                   [&](const ProbeComparison& c) { return c.probe == &probe; });
    if (!there && unanswerable(*tensor_core(all.hardware), probe, all.device.device).empty()) {
      all.missing.push_back(probe.name);
    }
  }
  return all;
}

}  // namespace moe4::oracle
