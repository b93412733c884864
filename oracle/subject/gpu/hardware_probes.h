// Hardware probes on a device: recorded, and recordings compared with the executor (docs/hardware.md).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gpu/device/device.h"
#include "oracle/hardware/compare_probe.h"
#include "oracle/hardware/recording.h"

namespace moe4::oracle {

// What a recording says of this device.
RecordedDevice recorded_device(const gpu::Device& device);

// The results of `count` instances, result_bytes each. `hardware` (ACC-14) is whose tensor cores an executor
// models. An Error: the device refuses, or finds a fault, or leaves a result unwritten.
Result<std::vector<std::byte>> run_probe(gpu::Device& device, const Probe& probe,
                                         const ProbeOperands& operands, std::uint32_t count,
                                         const std::string& hardware);

struct RecordSettings {
  std::string hardware = "hopper";
  std::uint64_t seed = 1;
  std::uint32_t count = 1024;  // instances of a scalar probe
  std::uint32_t tiles = 64;    // of a matrix product; at least as many as have something planted
};

struct Recorded {
  std::vector<std::string> probes;
  std::vector<std::string> left_out;  // "NAME: why"
};

// Every probe that the device has, one file each, into `folder`, which is created if need be. Left out is
// what the generation does not multiply, and (but for an executor) what is compiled for a later one. An
// Error: nothing can be written, or a probe went wrong.
Result<Recorded> record_probes(gpu::Device& device, const RecordSettings& settings,
                               const std::filesystem::path& folder);

struct RecordingsCompared {
  RecordedDevice device;
  std::string hardware;
  std::vector<ProbeComparison> probes;  // in the order of the table
  std::vector<std::string> missing;     // probes that the device could have answered, and the folder lacks
};

// All recordings of a folder, against the executor. An Error: none; one that cannot be read; recordings of
// two devices or generations in one folder; the executor refuses.
Result<RecordingsCompared> compare_recordings(const std::filesystem::path& folder);

}  // namespace moe4::oracle
