// A GPU as a Device, through the driver API.
//
// A launch runs twice or more, each time with another pattern in the guards and in every byte that nothing
// wrote. A byte that keeps both patterns was not written; one that follows them shows that the kernel depends
// on memory outside its buffers or on memory that nothing wrote. Guards and inputs are compared after each
// run.
//
// Nothing here throws or aborts. A kernel that faults or does not end takes the context with it: its outcome
// is `crashed` or `timed_out`, and every later launch fails. Whoever must go on does so in another process.
#pragma once

#include <memory>
#include <string>

#include "gpu/device/cuda_session.h"
#include "gpu/device/cuda_timing.h"
#include "gpu/device/device.h"

namespace moe4::gpu {

class CudaDevice : public Device {
 public:
  // The buffers are placed once, and not looked at afterwards.
  virtual Timing time(const KernelLaunch& launch, const TimingSettings& settings) = 0;
  virtual const CudaChip& chip() const = 0;
};

struct MadeCudaDevice {
  std::unique_ptr<CudaDevice> device;  // null: why, in `error`: "no device: …"
  std::string error;
};

MadeCudaDevice make_cuda_device(const CudaSettings& settings = {});

}  // namespace moe4::gpu
