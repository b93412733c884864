// Modules on a GPU: from a kernel's image or, by the driver's compiler, from its text; and what a launch asks
// of an entry.
#pragma once

#include <map>
#include <string>

#include "gpu/device/cuda_session.h"
#include "gpu/device/device.h"

namespace moe4::gpu {

class CudaModules {
 public:
  explicit CudaModules(CudaSession& session) : session_(&session) {}
  ~CudaModules();
  CudaModules(const CudaModules&) = delete;
  CudaModules& operator=(const CudaModules&) = delete;

  struct Entry {
    CudaFunction function = nullptr;  // null: why, in `error`
    std::string error;
    bool unsupported = false;   // another architecture, a driver that is too old: not the kernel's fault
    std::string compiled_from;  // "sm_90a", "compute_80"
  };
  // The entry of a launch, ready for its dynamic shared memory and its cluster. The module is kept by its
  // text.
  Entry entry(const KernelLaunch& launch);

 private:
  struct Loaded {
    CudaModule module = nullptr;
    std::string error, from;
    bool unsupported = false;
  };
  const Loaded& load(const KernelLaunch& launch);
  Loaded load_image(const KernelLaunch& launch, std::string_view target, const void* image);

  CudaSession* session_;
  std::map<std::string, Loaded, std::less<>> modules_;
};

}  // namespace moe4::gpu
