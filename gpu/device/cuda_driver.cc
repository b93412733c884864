#include "gpu/device/cuda_driver.h"

#include <dlfcn.h>

#include <cstdlib>

namespace moe4::gpu {

std::string CudaDriver::words(CudaStatus status) const {
  const char *name = nullptr, *text = nullptr;
  if (error_name(status, &name) != cuda_status::kSuccess || name == nullptr) {
    return "CUDA error " + std::to_string(status);
  }
  if (error_string(status, &text) != cuda_status::kSuccess || text == nullptr) return name;
  return std::string(name) + " (" + text + ")";
}

OpenedCudaDriver open_cuda_driver(std::string path) {
  if (path.empty()) {
    const char* chosen = std::getenv("MOE4_CUDA_DRIVER");
    path = chosen != nullptr && *chosen != '\0' ? chosen : "libcuda.so.1";
  }
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {nullptr, std::string("the CUDA driver cannot be opened: ") + dlerror()};
  auto driver = std::make_shared<CudaDriver>();
  driver->path = path;
  std::string missing;
#define MOE4_CUDA_ENTRY(member, symbol, parameters)                                    \
  driver->member = reinterpret_cast<CudaStatus(*) parameters>(dlsym(library, symbol)); \
  if (driver->member == nullptr && missing.empty()) missing = symbol;
#include "gpu/device/cuda_entries.inc"
#undef MOE4_CUDA_ENTRY
  if (!missing.empty()) {
    return {nullptr,
            path + " has no " + missing + ": the driver is too old, CUDA 12.0 is the first with all of them"};
  }
  return {std::move(driver), ""};
}

}  // namespace moe4::gpu
