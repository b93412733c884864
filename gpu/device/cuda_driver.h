// The CUDA driver as a table of functions, opened at run time: nothing of CUDA is linked, and no CUDA header
// is needed. Declared here is what this project calls, as the driver API of CUDA 12 and 13 documents it;
// tests/gpu/cuda_abi_test.cc holds the declarations against cuda.h where a toolkit is installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace moe4::gpu {

using CudaStatus = int;             // CUresult
using CudaAddress = std::uint64_t;  // CUdeviceptr
using CudaContext = struct CudaContextTag*;
using CudaModule = struct CudaModuleTag*;
using CudaFunction = struct CudaFunctionTag*;
using CudaStream = struct CudaStreamTag*;
using CudaEvent = struct CudaEventTag*;
using CudaGraph = struct CudaGraphTag*;
using CudaGraphExec = struct CudaGraphExecTag*;

namespace cuda_status {
constexpr CudaStatus kSuccess = 0, kOutOfMemory = 2, kNoDevice = 100, kInvalidImage = 200,
                     kNoBinaryForGpu = 209, kUnsupportedPtx = 222, kNotFound = 500, kNotReady = 600,
                     kIllegalAddress = 700, kLaunchTimeout = 702, kAssert = 710, kMisalignedAddress = 716,
                     kLaunchFailed = 719;
}

namespace cuda_attribute {
constexpr int kMultiprocessors = 16, kMajor = 75, kMinor = 76, kSharedOptIn = 97;  // of a device
constexpr int kMaxThreads = 0, kStaticShared = 1, kLocalBytes = 3, kRegisters = 4, kDynamicShared = 8,
              kNonPortableCluster = 14;  // of a function
}  // namespace cuda_attribute

// CUlaunchAttribute and CUlaunchConfig.
struct CudaLaunchAttribute {
  static constexpr int kCooperative = 2, kClusterDimension = 4;
  int id = 0;
  char pad[4] = {};
  alignas(8) std::uint32_t value[16] = {};
};

struct CudaLaunchConfig {
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned block_x = 1, block_y = 1, block_z = 1;
  unsigned shared_bytes = 0;
  CudaStream stream = nullptr;
  CudaLaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};

constexpr int kCudaTensorMapSwizzleNone = 0;  // 32, 64 and 128 bytes follow

struct CudaDriver {
#define MOE4_CUDA_ENTRY(member, symbol, parameters) CudaStatus(*member) parameters = nullptr;
#include "gpu/device/cuda_entries.inc"
#undef MOE4_CUDA_ENTRY

  std::string path;  // the library that was opened

  // "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)".
  std::string words(CudaStatus status) const;
};

// The driver, or why there is none: a missing library, a missing entry point (it is too old).
struct OpenedCudaDriver {
  std::shared_ptr<const CudaDriver> driver;
  std::string error;
};

// path: the library; empty: $MOE4_CUDA_DRIVER if that is set, else libcuda.so.1 where the system finds it.
// The library stays open until the process ends: drivers keep threads of their own.
OpenedCudaDriver open_cuda_driver(std::string path = "");

}  // namespace moe4::gpu
