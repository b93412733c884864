// The PTX executor as a Device. Buffers live twice, at the same addresses, and with checks on every launch
// runs on both, under two patterns of unwritten memory and registers: what then differs depends on memory
// that nothing wrote.
#include <array>
#include <map>
#include <utility>

#include "gpu/device/device.h"
#include "gpu/device/parameters.h"
#include "gpu/device/two_patterns.h"

namespace moe4::gpu {
namespace {

class ExecutorDevice : public Device {
 public:
  std::string_view name() const override { return "executor"; }

  BufferId add_input(std::string name, std::span<const std::byte> host) override {
    std::uint64_t address = 0;
    for (ptx::Memory& memory : memories_) address = memory.add_input(name, host);
    return add({std::move(name), address, host.size(), false});
  }

  BufferId add_output(std::string name, std::uint64_t bytes) override {
    std::uint64_t address = 0;
    for (ptx::Memory& memory : memories_) address = memory.add_output(name, bytes);
    return add({std::move(name), address, bytes, true});
  }

  void reset() override {
    memories_ = {};
    buffers_.clear();
    checks_.reset();
    input_written_ = false;
  }

  LaunchOutcome launch(const KernelLaunch& launch, const LaunchSettings& settings) override {
    LaunchOutcome outcome;
    if (checks_.value_or(settings.checks) != settings.checks) {
      outcome.error = "launches on the same buffers must agree on checks: reset first";
      return outcome;
    }
    checks_ = settings.checks;
    const ptx::Module* module = parsed(launch, outcome);
    if (module == nullptr) return outcome;
    const std::optional<ptx::Launch> ready = prepare(*module, launch, outcome);
    if (!ready) return outcome;

    ptx::Options options;
    options.checks = settings.checks;
    options.schedule = settings.schedule;
    options.poison = settings.poison;
    options.host_threads = settings.host_threads;
    options.instruction_budget = settings.instruction_budget;
    ptx::LaunchReport report = ptx::launch(*module, memories_[0], *ready, options);
    if (settings.checks && !report.error && report.completed) {
      options.poison = ~settings.poison;
      const ptx::LaunchReport other = ptx::launch(*module, memories_[1], *ready, options);
      add_differences(launch.entry, report, other, report.findings);
      for (const Buffer& buffer : buffers_) {
        if (!buffer.output) continue;
        const auto difference = compare_output(memories_[0], memories_[1], buffer.address, buffer.bytes);
        if (difference) report.findings.push_back(finding_of(launch.entry, buffer.name, *difference));
      }
    }
    if (report.error) outcome.error = to_string(*report.error);
    outcome.counters = report.counters;
    outcome.completed = report.completed;
    outcome.findings = std::move(report.findings);
    for (const ptx::Finding& finding : outcome.findings) {
      input_written_ = input_written_ || finding.check == ptx::Check::kInputWritten;
    }
    return outcome;
  }

  void read(BufferId buffer, std::span<std::byte> to) override {
    memories_[0].read(buffers_.at(buffer.index).address, to);
  }

  std::vector<bool> written(BufferId buffer) override {
    return memories_[0].written(buffers_.at(buffer.index).address);
  }

  // The executor refuses a store to an input and reports it, so the host's bytes are the same in any case.
  bool inputs_unchanged() override { return !input_written_; }

 private:
  struct Buffer {
    std::string name;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    bool output = false;
  };

  BufferId add(Buffer buffer) {
    buffers_.push_back(std::move(buffer));
    return {static_cast<std::uint32_t>(buffers_.size() - 1)};
  }

  static std::string to_string(const ptx::Error& error) {
    std::string text = error.message;
    if (!error.instruction.empty()) text += ": " + error.instruction;
    if (error.line > 0) text += " (PTX line " + std::to_string(error.line) + ")";
    return text;
  }

  const ptx::Module* parsed(const KernelLaunch& launch, LaunchOutcome& outcome) {
    if (launch.ptx.empty()) {
      outcome.error = launch.entry + ": no PTX, built without the CUDA Toolkit";
      outcome.unsupported = true;
      return nullptr;
    }
    const auto known = modules_.find(launch.ptx);
    if (known != modules_.end()) return &known->second;
    ptx::Error error;
    std::optional<ptx::Module> module = ptx::Module::parse(launch.ptx, launch.module_name, &error);
    if (!module) {
      outcome.error = launch.module_name + ": " + to_string(error);
      return nullptr;
    }
    return &modules_.emplace(launch.ptx, std::move(*module)).first->second;
  }

  std::optional<ptx::Launch> prepare(const ptx::Module& module, const KernelLaunch& launch,
                                     LaunchOutcome& outcome) const {
    for (const ptx::EntryInfo& entry : module.entries()) {
      if (entry.name != launch.entry) continue;
      if (!entry.unsupported.empty()) {
        outcome.error = launch.entry + ": " + to_string(entry.unsupported.front());
        outcome.unsupported = true;
        return std::nullopt;
      }
      std::string error;
      const auto address = [this](BufferId buffer) { return buffers_.at(buffer.index).address; };
      auto block = parameter_block(entry, launch.arguments, address, &error);
      if (!block) {
        outcome.error = error;
        return std::nullopt;
      }
      return ptx::Launch{launch.entry, launch.grid, launch.block, launch.dynamic_shared_bytes,
                         std::move(*block)};
    }
    outcome.error = launch.module_name + ": no entry " + launch.entry;
    return std::nullopt;
  }

  std::array<ptx::Memory, 2> memories_;
  std::vector<Buffer> buffers_;
  std::map<std::string, ptx::Module, std::less<>> modules_;
  std::optional<bool> checks_;
  bool input_written_ = false;
};

}  // namespace

std::unique_ptr<Device> make_executor_device() { return std::make_unique<ExecutorDevice>(); }

}  // namespace moe4::gpu
