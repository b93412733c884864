// One interface to whatever runs a kernel: allocate with guards, launch, read back.
// Two implementations: the PTX executor, and CUDA through the driver API opened at run time (cuda_device.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/ptx/ptx.h"
#include "gpu/ptx/tensor_map.h"

namespace moe4::gpu {

// Who computes; enters recordings of what a device answered. Empty where it does not apply.
struct DeviceIdentity {
  std::string device;   // "executor" or "cuda"
  std::string version;  // of the code that drives it: this project's
  std::string chip;     // "NVIDIA H200"
  std::string driver;
  std::string toolkit;
};

struct BufferId {
  std::uint32_t index = 0;
};

// A kernel argument: a buffer's address, a scalar of 1 to 8 bytes, or a tensor map by value (128 bytes).
struct Argument {
  enum class Kind { kBuffer, kU8, kU16, kU32, kU64, kF32, kTensorMap };
  Kind kind = Kind::kU32;
  BufferId buffer;
  std::uint64_t bits = 0;
  ptx::TensorMap map = {};  // kTensorMap, of `buffer`: the device puts in the address
};

// A module compiled ahead: machine code for one architecture ("sm_90a"), or PTX text with a terminating zero
// that a driver compiles for this architecture and later ones ("compute_80").
struct KernelImage {
  std::string_view target;
  std::span<const std::byte> bytes;
};

struct KernelLaunch {
  std::string_view ptx;                      // the module's text; a device may memoise what it makes of it
  std::span<const KernelImage> images = {};  // of the same text, for devices that run machine code
  std::string module_name;
  std::string entry;
  ptx::Dim3 grid;
  ptx::Dim3 block;
  std::uint32_t dynamic_shared_bytes = 0;
  std::vector<Argument> arguments;
  std::optional<ptx::Dim3> cluster = {};  // blocks of a cluster; none: what the entry demands, else one
  bool cooperative = false;               // all blocks run at once: grid barriers
};

// What one launch came to. error: it could not run. findings: it ran and the device saw something wrong.
struct LaunchOutcome {
  std::optional<std::string> error;
  bool unsupported = false;  // error is about what this device cannot do, not about the kernel
  bool crashed = false;      // error: the device's context died, and nothing can be launched any more
  bool timed_out = false;  // error: it did not end within the time limit; nothing more can be launched either
  std::vector<ptx::Finding> findings;
  ptx::Counters counters;
  bool completed = false;
  std::vector<ptx::Error> approximate;  // instructions of the entry whose bits the ISA leaves open
};

struct LaunchSettings {
  std::byte poison{0xFF};
  std::optional<std::uint64_t> schedule;
  bool checks = true;
  int host_threads = 0;
  std::uint64_t instruction_budget = 0;                // executor
  std::chrono::duration<double> time_limit{60};        // GPU: of one run of the kernel
  const ptx::TensorCore* tensor_core = nullptr;        // executor: arithmetic of the chip that is modelled
  std::function<void(std::string_view)> printed = {};  // gets what the kernel prints, if it prints
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view name() const = 0;  // "executor", "cuda:0 NVIDIA H200"
  virtual DeviceIdentity identity() const = 0;

  // Buffers live until reset(). Inputs are borrowed where the device can, else copied.
  virtual BufferId add_input(std::string name, std::span<const std::byte> host) = 0;
  virtual BufferId add_output(std::string name, std::uint64_t bytes) = 0;
  virtual BufferId add_zeroed(std::string name, std::uint64_t bytes) = 0;  // as add_output, holding zeros
  virtual void reset() = 0;

  virtual LaunchOutcome launch(const KernelLaunch& launch, const LaunchSettings& settings) = 0;
  virtual void read(BufferId buffer, std::span<std::byte> to) = 0;
  // Per byte of an output buffer: written by the last launch? Empty where the device cannot tell.
  virtual std::vector<bool> written(BufferId buffer) = 0;
  // Whether every input still holds the bytes it was added with.
  virtual bool inputs_unchanged() = 0;
};

std::unique_ptr<Device> make_executor_device();

}  // namespace moe4::gpu
