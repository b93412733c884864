// A device that runs on one host thread and within a budget that can be changed between launches.
#pragma once

#include <memory>
#include <utility>

#include "gpu/device/device.h"

namespace moe4::oracle {

class BudgetDevice : public gpu::Device {
 public:
  // What the launches are held to and what they used; shared with whoever sets it.
  struct Budget {
    std::uint64_t warp_instructions = 0;  // 0: the caller's own
    std::uint64_t used = 0;               // by the last launch
  };

  BudgetDevice(std::unique_ptr<gpu::Device> device, std::shared_ptr<Budget> budget)
      : device_(std::move(device)), budget_(std::move(budget)) {}

  std::string_view name() const override { return device_->name(); }
  gpu::DeviceIdentity identity() const override { return device_->identity(); }
  gpu::BufferId add_input(std::string name, std::span<const std::byte> host) override {
    return device_->add_input(std::move(name), host);
  }
  gpu::BufferId add_output(std::string name, std::uint64_t bytes) override {
    return device_->add_output(std::move(name), bytes);
  }
  gpu::BufferId add_zeroed(std::string name, std::uint64_t bytes) override {
    return device_->add_zeroed(std::move(name), bytes);
  }
  void reset() override { device_->reset(); }
  gpu::LaunchOutcome launch(const gpu::KernelLaunch& launch, const gpu::LaunchSettings& settings) override {
    gpu::LaunchSettings own = settings;
    own.host_threads = 1;
    if (budget_->warp_instructions > 0) own.instruction_budget = budget_->warp_instructions;
    gpu::LaunchOutcome outcome = device_->launch(launch, own);
    budget_->used = outcome.counters.warp_instructions;
    return outcome;
  }
  void read(gpu::BufferId buffer, std::span<std::byte> to) override { device_->read(buffer, to); }
  std::vector<bool> written(gpu::BufferId buffer) override { return device_->written(buffer); }
  bool inputs_unchanged() override { return device_->inputs_unchanged(); }

 private:
  std::unique_ptr<gpu::Device> device_;
  std::shared_ptr<Budget> budget_;
};

}  // namespace moe4::oracle
