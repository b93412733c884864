// How long a kernel takes on a GPU.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpu/device/cuda_session.h"

namespace moe4::gpu {

struct TimingSettings {
  int runs = 50;  // that are measured, after warm_up others
  int warm_up = 5;
  std::uint64_t flush_bytes = std::uint64_t{256}
                              << 20;             // written before each run, more than the L2 cache holds
  bool graph = false;                            // captured once and replayed
  std::chrono::duration<double> time_limit{60};  // of a run
};

struct Timing {
  std::vector<double> microseconds;  // a run each
  std::string error;                 // not empty: nothing was measured, and why
  double median() const;             // precondition: something was measured
};

// `start` puts the kernel into the session's stream. Each run lies between two events of it, so that the time
// is the kernel's alone. A kernel that faults or does not end loses the session.
Timing measure_launch(CudaSession& session, const std::function<CudaStatus()>& start,
                      const TimingSettings& settings);

}  // namespace moe4::gpu
