// A GPU that is open for work: the driver, one device of it, its context and one stream.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "gpu/device/cuda_driver.h"

namespace moe4::gpu {

struct CudaSettings {
  std::string driver;  // the library; empty: open_cuda_driver's choice
  int ordinal = 0;     // which device of it
};

// What is known of a device before anything runs on it.
struct CudaChip {
  std::string name;    // "NVIDIA H200"
  int capability = 0;  // 90
  int multiprocessors = 0;
  int shared_bytes = 0;        // of a block, at most
  int driver_version = 0;      // 13000: CUDA 13.0
  std::string module_version;  // "580.65.06" of the kernel's driver module; empty: not known
};
std::string cuda_version(int version);  // 13000 → "13.0"

class CudaSession {
 public:
  ~CudaSession();
  CudaSession(const CudaSession&) = delete;
  CudaSession& operator=(const CudaSession&) = delete;

  const CudaDriver& driver() const { return *driver_; }
  const CudaChip& chip() const { return chip_; }
  CudaStream stream() const { return stream_; }

  // Waits for the stream, asking again and again. kNotReady: the limit passed, and what runs goes on running.
  CudaStatus wait(std::chrono::duration<double> limit) const;

  // After an error that kills the context nothing works any more, and the driver is not called again.
  void lose() { lost_ = true; }
  bool lost() const { return lost_; }

 private:
  friend struct OpenedCuda open_cuda(const CudaSettings& settings, bool for_work);
  CudaSession() = default;

  std::shared_ptr<const CudaDriver> driver_;
  CudaChip chip_;
  int device_ = 0;
  bool retained_ = false, lost_ = false;
  CudaStream stream_ = nullptr;
};

// A session, or why there is none: "no device: …" in words for whoever asked for one.
struct OpenedCuda {
  std::unique_ptr<CudaSession> session;
  std::string error;
};

// for_work false: only asks what is there, and makes no context (which takes time and memory).
OpenedCuda open_cuda(const CudaSettings& settings, bool for_work = true);

// Does this status mean that the context is gone? A fault of a running kernel does; a launch that is refused
// does not.
bool kills_context(CudaStatus status);

}  // namespace moe4::gpu
