// The recording of a probe: what a device answered, with the operands it was given (docs/hardware.md has the
// file's format). Written once by whoever ran the device, and read by everybody who has none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "oracle/hardware/probe_operands.h"
#include "reference/status.h"

namespace moe4::oracle {

inline constexpr const char* kNone = "none";
inline constexpr const char* kExecutor = "executor";

// Who answered. device is "executor" or "cuda"; an executor has no chip, driver or toolkit ("none"), and
// everything else has all three.
struct RecordedDevice {
  std::string device, version, chip, driver, toolkit;
  friend bool operator==(const RecordedDevice&, const RecordedDevice&) = default;
};

struct Recording {
  std::string probe;
  std::string hardware;  // the generation that the device is, or models (ACC-14)
  RecordedDevice device;
  std::uint64_t seed = 0;   // of the operands
  std::uint32_t count = 0;  // instances
  ProbeOperands operands;
  std::vector<std::byte> result;
};

// "fma.rn.f32.probe.safetensors"
std::string recording_name(const std::string& probe);

// The file appears whole or not at all (FILE-13). An Error if the recording breaks a rule that the reader
// checks.
Status write_recording(const std::filesystem::path& path, const Recording& recording);

// Errors: no safetensors; not a recording; damaged (its checksum); a device that says too much or too little;
// a generation or an instruction that this build does not know; a probe whose PTX was another.
Result<Recording> read_recording(const std::filesystem::path& path);

}  // namespace moe4::oracle
