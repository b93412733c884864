#include "gpu/device/cuda_device.h"

#include <map>
#include <utility>

#include "gpu/device/cuda_buffers.h"
#include "gpu/device/cuda_module.h"
#include "gpu/device/cuda_tensor_map.h"
#include "gpu/device/parameters.h"

namespace moe4::gpu {
namespace {

using Contents = std::vector<std::vector<std::byte>>;

class DriverDevice : public CudaDevice {
 public:
  explicit DriverDevice(std::unique_ptr<CudaSession> session, int ordinal)
      : session_(std::move(session)),
        modules_(*session_),
        buffers_(*session_),
        name_("cuda:" + std::to_string(ordinal) + " " + session_->chip().name) {}

  std::string_view name() const override { return name_; }

  DeviceIdentity identity() const override {
    const CudaChip& chip = session_->chip();
    const std::string cuda = "CUDA " + cuda_version(chip.driver_version);
    const std::string driver = chip.module_version.empty() ? cuda : chip.module_version + " (" + cuda + ")";
    return {"cuda", MOE4_VERSION, chip.name, driver, cuda + ", the driver's compiler"};
  }

  BufferId add_input(std::string name, std::span<const std::byte> host) override {
    return buffers_.add(CudaBuffers::Kind::kInput, std::move(name), host.size(), host);
  }
  BufferId add_output(std::string name, std::uint64_t bytes) override {
    return buffers_.add(CudaBuffers::Kind::kOutput, std::move(name), bytes, {});
  }
  BufferId add_zeroed(std::string name, std::uint64_t bytes) override {
    return buffers_.add(CudaBuffers::Kind::kZeroed, std::move(name), bytes, {});
  }
  void reset() override {
    buffers_.clear();
    input_written_ = false;
  }

  LaunchOutcome launch(const KernelLaunch& launch, const LaunchSettings& settings) override {
    LaunchOutcome outcome;
    Prepared prepared;
    if (prepare(launch, prepared, outcome))
      run_patterns({launch, settings, prepared.function, prepared.pointers}, outcome);
    return outcome;
  }

  const CudaChip& chip() const override { return session_->chip(); }

  Timing time(const KernelLaunch& launch, const TimingSettings& settings) override {
    LaunchOutcome outcome;
    Prepared prepared;
    if (!prepare(launch, prepared, outcome)) return {{}, *outcome.error};
    if (!ended(buffers_.place(std::byte{0}), "the buffers", outcome)) return {{}, *outcome.error};
    const LaunchSettings usual;
    const Ready ready{launch, usual, prepared.function, prepared.pointers};
    return measure_launch(
        *session_, [&] { return start(ready); }, settings);
  }

  void read(BufferId buffer, std::span<std::byte> to) override { buffers_.read(buffer, to); }
  std::vector<bool> written(BufferId buffer) override { return buffers_.written(buffer); }
  bool inputs_unchanged() override { return !input_written_; }

 private:
  struct Ready {
    const KernelLaunch& launch;
    const LaunchSettings& settings;
    CudaFunction function;
    std::vector<void*>& parameters;
  };

  struct Prepared {
    CudaFunction function = nullptr;
    std::vector<std::byte> block;
    std::vector<void*> pointers;  // into block
  };

  static bool refused(std::string text, bool unsupported, LaunchOutcome& outcome) {
    outcome.error = std::move(text);
    outcome.unsupported = unsupported;
    return false;
  }

  // Module, entry and parameters; false: outcome says why there are none.
  bool prepare(const KernelLaunch& launch, Prepared& prepared, LaunchOutcome& outcome) {
    if (session_->lost()) {
      outcome.crashed = true;
      return refused("the context was lost by an earlier launch; a new process is needed", false, outcome);
    }
    if (!buffers_.problem().empty()) return refused(buffers_.problem(), true, outcome);
    if (launch.ptx.empty())
      return refused(launch.entry + ": no PTX, built without the CUDA Toolkit", true, outcome);
    std::string error;
    const ptx::EntryInfo* entry = entry_of(launch, &error);
    if (entry == nullptr || !parameters(*entry, launch, prepared.block, &error))
      return refused(error, false, outcome);
    outcome.approximate = entry->approximate;
    const CudaModules::Entry loaded = modules_.entry(launch);
    if (loaded.function == nullptr) return refused(loaded.error, loaded.unsupported, outcome);
    prepared.function = loaded.function;
    for (const ptx::Parameter& parameter : entry->parameters) {
      prepared.pointers.push_back(prepared.block.data() + parameter.offset);
    }
    return true;
  }

  // The text is read for the sizes of its parameters, which the driver would take on trust.
  const ptx::EntryInfo* entry_of(const KernelLaunch& launch, std::string* error) {
    auto known = entries_.find(launch.ptx);
    if (known == entries_.end()) {
      ptx::Error problem;
      const std::optional<ptx::Module> module = ptx::Module::parse(launch.ptx, launch.module_name, &problem);
      if (!module) {
        *error =
            launch.module_name + ": " + problem.message + " (PTX line " + std::to_string(problem.line) + ")";
        return nullptr;
      }
      known = entries_.emplace(launch.ptx, module->entries()).first;
    }
    for (const ptx::EntryInfo& entry : known->second) {
      if (entry.name == launch.entry) return &entry;
    }
    *error = launch.module_name + ": no entry " + launch.entry;
    return nullptr;
  }

  bool parameters(const ptx::EntryInfo& entry, const KernelLaunch& launch, std::vector<std::byte>& block,
                  std::string* error) {
    const auto address = [this](BufferId buffer) { return buffers_.address(buffer); };
    const auto encode = [this](const ptx::TensorMap& map, std::string* why) {
      return encode_for_cuda(session_->driver(), map, why);
    };
    auto made = parameter_block(entry, launch.arguments, address, encode, error);
    if (made) block = std::move(*made);
    return made.has_value();
  }

  CudaStatus start(const Ready& ready) const {
    const KernelLaunch& launch = ready.launch;
    CudaLaunchAttribute attributes[2];
    CudaLaunchConfig config;
    config.grid_x = launch.grid.x, config.grid_y = launch.grid.y, config.grid_z = launch.grid.z;
    config.block_x = launch.block.x, config.block_y = launch.block.y, config.block_z = launch.block.z;
    config.shared_bytes = launch.dynamic_shared_bytes;
    config.stream = session_->stream();
    config.attributes = attributes;
    if (launch.cluster) {
      CudaLaunchAttribute& cluster = attributes[config.attribute_count++];
      cluster.id = CudaLaunchAttribute::kClusterDimension;
      cluster.value[0] = launch.cluster->x, cluster.value[1] = launch.cluster->y,
      cluster.value[2] = launch.cluster->z;
    }
    if (launch.cooperative) {
      CudaLaunchAttribute& cooperative = attributes[config.attribute_count++];
      cooperative.id = CudaLaunchAttribute::kCooperative;
      cooperative.value[0] = 1;
    }
    return session_->driver().launch(&config, ready.function, ready.parameters.data(), nullptr);
  }

  // false: outcome says why.
  bool ended(CudaStatus status, const std::string& what, LaunchOutcome& outcome) {
    if (status == cuda_status::kSuccess) return true;
    outcome.error = what + ": " + session_->driver().words(status);
    if (kills_context(status)) {
      outcome.crashed = true;
      session_->lose();
    }
    return false;
  }

  // Waits for the kernel; false: outcome says how it ended, or that it did not.
  bool finished(const Ready& ready, LaunchOutcome& outcome) {
    const CudaStatus status = session_->wait(ready.settings.time_limit);
    if (status != cuda_status::kNotReady) return ended(status, ready.launch.entry, outcome);
    outcome.error = ready.launch.entry + " did not end within " +
                    std::to_string(static_cast<std::int64_t>(ready.settings.time_limit.count() * 1000)) +
                    " ms";
    outcome.timed_out = true;
    session_->lose();
    return false;
  }

  // One run with one pattern, and what it left.
  bool run(const Ready& ready, std::byte pattern, Contents& left, LaunchOutcome& outcome) {
    if (!ended(buffers_.place(pattern), "the buffers of " + ready.launch.entry, outcome)) return false;
    if (!ended(start(ready), "the launch of " + ready.launch.entry, outcome)) return false;
    if (!finished(ready, outcome)) return false;
    std::vector<CudaBuffers::Damage> damages;
    if (!ended(buffers_.damage(pattern, damages), "reading guards back", outcome)) return false;
    for (const CudaBuffers::Damage& damage : damages) {
      input_written_ = input_written_ || damage.input;
      report(damage.input ? ptx::Check::kInputWritten : ptx::Check::kOutOfBounds, damage.text, ready,
             outcome);
    }
    return ended(buffers_.contents(left), "reading the output back", outcome);
  }

  static void report(ptx::Check check, const std::string& text, const Ready& ready, LaunchOutcome& outcome) {
    for (ptx::Finding& finding : outcome.findings) {
      if (finding.check == check && finding.message == text) {
        ++finding.count;
        return;
      }
    }
    ptx::Finding finding;
    finding.check = check;
    finding.kernel = ready.launch.entry;
    finding.message = text;
    outcome.findings.push_back(std::move(finding));
  }

  void run_patterns(const Ready& ready, LaunchOutcome& outcome) {
    const std::byte first = ready.settings.poison, second = first ^ std::byte{0xA5};
    Contents a, b;
    if (!run(ready, first, a, outcome) || !run(ready, second, b, outcome)) return;
    if (ready.settings.checks && !follows_patterns(a, first, b, second).empty()) {
      // A kernel whose results vary by themselves is told apart: its runs do not repeat.
      Contents again_a, again_b;
      if (!run(ready, first, again_a, outcome) || !run(ready, second, again_b, outcome)) return;
      if (again_a == a && again_b == b) {
        report(ptx::Check::kUninitialized, follows_patterns(a, first, b, second), ready, outcome);
      }
    }
    buffers_.settle(a, first, b, second);
    outcome.completed = true;
  }

  // The first byte that differs between the runs and was written in one of them; empty: there is none.
  std::string follows_patterns(const Contents& a, std::byte first, const Contents& b,
                               std::byte second) const {
    for (std::size_t n = 0; n < a.size(); ++n) {
      for (std::size_t i = 0; i < a[n].size(); ++i) {
        if (a[n][i] == b[n][i] || (a[n][i] == first && b[n][i] == second)) continue;
        return "byte " + std::to_string(i) + " of " + buffers_.writable_name(n) +
               " depends on memory that nothing wrote, or that lies outside of every buffer";
      }
    }
    return "";
  }

  std::unique_ptr<CudaSession> session_;
  CudaModules modules_;
  CudaBuffers buffers_;
  std::string name_;
  std::map<std::string, std::vector<ptx::EntryInfo>, std::less<>> entries_;
  bool input_written_ = false;
};

}  // namespace

MadeCudaDevice make_cuda_device(const CudaSettings& settings) {
  OpenedCuda opened = open_cuda(settings);
  if (!opened.session) return {nullptr, std::move(opened.error)};
  return {std::make_unique<DriverDevice>(std::move(opened.session), settings.ordinal), ""};
}

}  // namespace moe4::gpu
