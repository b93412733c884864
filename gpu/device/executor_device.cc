// The PTX executor as a Device. With checks, a launch also says whether it depends on memory that nothing
// wrote.
#include <map>
#include <utility>

#include "gpu/device/device.h"
#include "gpu/device/parameters.h"
#include "gpu/ptx/uninitialized.h"

namespace moe4::gpu {
namespace {

class ExecutorDevice : public Device {
 public:
  std::string_view name() const override { return "executor"; }

  DeviceIdentity identity() const override { return {"executor", MOE4_VERSION, "", "", ""}; }

  BufferId add_input(std::string name, std::span<const std::byte> host) override {
    return add(memory_.add_input(std::move(name), host));
  }

  BufferId add_output(std::string name, std::uint64_t bytes) override {
    return add(memory_.add_output(std::move(name), bytes));
  }

  BufferId add_zeroed(std::string name, std::uint64_t bytes) override {
    return add(memory_.add_zeroed(std::move(name), bytes));
  }

  void reset() override {
    memory_ = {};
    addresses_.clear();
    input_written_ = false;
  }

  LaunchOutcome launch(const KernelLaunch& launch, const LaunchSettings& settings) override {
    LaunchOutcome outcome;
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
    options.tensor_core = settings.tensor_core;
    ptx::LaunchReport report = ptx::launch_checked(*module, memory_, *ready, options);
    if (report.error) outcome.error = to_string(*report.error);
    outcome.counters = report.counters;
    outcome.completed = report.completed;
    if (settings.printed && !report.printed.empty()) settings.printed(report.printed);
    outcome.findings = std::move(report.findings);
    for (const ptx::Finding& finding : outcome.findings) {
      input_written_ = input_written_ || finding.check == ptx::Check::kInputWritten;
    }
    return outcome;
  }

  void read(BufferId buffer, std::span<std::byte> to) override {
    memory_.read(addresses_.at(buffer.index), to);
  }

  std::vector<bool> written(BufferId buffer) override { return memory_.written(addresses_.at(buffer.index)); }

  // The executor refuses a store to an input and reports it, so the host's bytes are the same in any case.
  bool inputs_unchanged() override { return !input_written_; }

 private:
  BufferId add(std::uint64_t address) {
    addresses_.push_back(address);
    return {static_cast<std::uint32_t>(addresses_.size() - 1)};
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
      outcome.approximate = entry.approximate;
      std::string error;
      const auto address = [this](BufferId buffer) { return addresses_.at(buffer.index); };
      const auto encode_map = [](const ptx::TensorMap& map, std::string*) {
        return std::optional(encode(map));
      };
      auto block = parameter_block(entry, launch.arguments, address, encode_map, &error);
      if (!block) {
        outcome.error = error;
        return std::nullopt;
      }
      return ptx::Launch{launch.entry,      launch.grid,    launch.block,      launch.dynamic_shared_bytes,
                         std::move(*block), launch.cluster, launch.cooperative};
    }
    outcome.error = launch.module_name + ": no entry " + launch.entry;
    return std::nullopt;
  }

  ptx::Memory memory_;
  std::vector<std::uint64_t> addresses_;
  std::map<std::string, ptx::Module, std::less<>> modules_;
  bool input_written_ = false;
};

}  // namespace

std::unique_ptr<Device> make_executor_device() { return std::make_unique<ExecutorDevice>(); }

}  // namespace moe4::gpu
