#include "oracle/subject/gpu/device_run.h"

#include <algorithm>

namespace moe4::oracle {
namespace {

std::vector<bool> unwritten_elements(const std::vector<bool>& written, const Tensor& output) {
  if (written.empty()) return {};
  const std::size_t size = size_of(output.dtype());
  std::vector<bool> unwritten(static_cast<std::size_t>(output.elements()), false);
  for (std::size_t byte = 0; byte < written.size(); ++byte) {
    if (!written[byte]) unwritten[byte / size] = true;
  }
  return unwritten;
}

// "ex2.approx.f32 %f1, %f2;" → "ex2.approx.f32".
std::string opcode_of(const std::string& instruction) {
  return instruction.substr(0, instruction.find_first_of(" \t;"));
}

}  // namespace

void run_launch(gpu::Device& device, const gpu::KernelLaunch& launch, const gpu::LaunchSettings& settings,
                gpu::BufferId output, SubjectRun& run) {
  const gpu::LaunchOutcome outcome = device.launch(launch, settings);
  run.thread_instructions = outcome.counters.thread_instructions;
  if (outcome.counters.tensor_multiply_adds > 0) run.hardware = settings.tensor_core->chip;
  for (const ptx::Error& instruction : outcome.approximate) {
    run.approximate.push_back(opcode_of(instruction.instruction));
  }
  std::sort(run.approximate.begin(), run.approximate.end());
  run.approximate.erase(std::unique(run.approximate.begin(), run.approximate.end()), run.approximate.end());
  for (const ptx::Finding& finding : outcome.findings) {
    if (finding.check == ptx::Check::kBudget) {
      run.outcome = SubjectRun::Outcome::kTimeout;
      run.reason = ptx::to_string(finding);
    }
    run.findings.push_back(
        {std::string(ptx::name_of(finding.check)), ptx::to_string(finding), finding.formal});
  }
  if (outcome.error) {
    run.outcome = outcome.unsupported ? SubjectRun::Outcome::kUnsupported
                  : outcome.timed_out ? SubjectRun::Outcome::kTimeout
                  : outcome.crashed   ? SubjectRun::Outcome::kCrashed
                                      : SubjectRun::Outcome::kError;
    run.reason = *outcome.error;
    return;
  }
  if (!outcome.completed && run.findings.empty()) {
    run.outcome = SubjectRun::Outcome::kError;
    run.reason = "the launch did not complete, and the device gave no reason";
    return;
  }
  device.read(output, {run.output.data(), run.output.bytes()});
  run.unwritten = unwritten_elements(device.written(output), run.output);
  run.inputs_unchanged = device.inputs_unchanged();
}

}  // namespace moe4::oracle
