// A CUDA driver without a GPU, for tests: the entry points of gpu/device/cuda_entries.inc over the PTX
// executor. It is no evidence about a chip; its device says so by its name.
#include <chrono>
#include <cstdio>
#include <cstring>

#include "gpu/device/cuda_driver.h"
#include "gpu/ptx/tensor_map.h"
#include "tests/support/fake_cuda/fake_gpu.h"

namespace {

using namespace moe4;
using gpu::CudaAddress, gpu::CudaContext, gpu::CudaEvent, gpu::CudaFunction, gpu::CudaGraph,
    gpu::CudaGraphExec, gpu::CudaLaunchAttribute, gpu::CudaLaunchConfig, gpu::CudaModule, gpu::CudaStatus,
    gpu::CudaStream;
using namespace gpu::cuda_status;
using fake::FakeFunction, fake::FakeModule, fake::Work;
using Clock = std::chrono::steady_clock;

constexpr CudaStatus kInvalidValue = 1;

fake::FakeGpu& device() {
  static fake::FakeGpu kGpu;
  return kGpu;
}

FakeFunction* own(CudaFunction function) { return reinterpret_cast<FakeFunction*>(function); }

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default"))) gpu::CudaStatus

FAKE cuInit(unsigned) { return device().start(); }

FAKE cuDriverGetVersion(int* version) {
  *version = static_cast<int>(fake::Words::of_environment().number("driver", 13000));
  return kSuccess;
}

FAKE cuGetErrorName(CudaStatus status, const char** name) {
  constexpr std::pair<CudaStatus, const char*> kNames[] = {
      {1, "CUDA_ERROR_INVALID_VALUE"},     {2, "CUDA_ERROR_OUT_OF_MEMORY"},
      {100, "CUDA_ERROR_NO_DEVICE"},       {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
      {218, "CUDA_ERROR_INVALID_PTX"},     {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
      {500, "CUDA_ERROR_NOT_FOUND"},       {600, "CUDA_ERROR_NOT_READY"},
      {700, "CUDA_ERROR_ILLEGAL_ADDRESS"}, {716, "CUDA_ERROR_MISALIGNED_ADDRESS"},
      {719, "CUDA_ERROR_LAUNCH_FAILED"}};
  for (const auto& [known, word] : kNames) {
    if (known != status) continue;
    *name = word;
    return kSuccess;
  }
  return kInvalidValue;
}

FAKE cuGetErrorString(CudaStatus, const char**) { return kInvalidValue; }

FAKE cuDeviceGetCount(int* count) {
  *count = 1;
  return kSuccess;
}
FAKE cuDeviceGet(int* number, int ordinal) {
  *number = ordinal;
  return kSuccess;
}
FAKE cuDeviceGetName(char* name, int bytes, int) {
  std::snprintf(name, static_cast<std::size_t>(bytes), "no GPU: the fake driver of moe4's tests");
  return kSuccess;
}
FAKE cuDeviceGetAttribute(int* value, int attribute, int) {
  switch (attribute) {
    case gpu::cuda_attribute::kMultiprocessors:
      *value = 132;
      return kSuccess;
    case gpu::cuda_attribute::kMajor:
      *value = device().capability() / 10;
      return kSuccess;
    case gpu::cuda_attribute::kMinor:
      *value = device().capability() % 10;
      return kSuccess;
    case gpu::cuda_attribute::kSharedOptIn:
      *value = 227 << 10;
      return kSuccess;
    default:
      return kInvalidValue;
  }
}

FAKE cuDevicePrimaryCtxRetain(CudaContext* context, int) {
  static char kContext;
  *context = reinterpret_cast<CudaContext>(&kContext);
  return device().words().has("no-context") ? kOutOfMemory : kSuccess;
}
FAKE cuDevicePrimaryCtxRelease_v2(int) { return kSuccess; }
FAKE cuCtxSetCurrent(CudaContext) { return kSuccess; }

FAKE cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  *free = device().free_bytes();
  *total = device().limit();
  return device().broken;
}
FAKE cuMemAlloc_v2(CudaAddress* address, std::size_t bytes) {
  return device().broken != kSuccess ? device().broken : device().allocate(address, bytes);
}
FAKE cuMemFree_v2(CudaAddress address) { return device().release(address); }
FAKE cuMemcpyHtoD_v2(CudaAddress to, const void* from, std::size_t bytes) {
  if (device().broken != kSuccess) return device().broken;
  std::byte* host = device().at(to, bytes);
  if (host == nullptr) return kInvalidValue;
  std::memcpy(host, from, bytes);
  return kSuccess;
}
FAKE cuMemcpyDtoH_v2(void* to, CudaAddress from, std::size_t bytes) {
  if (device().broken != kSuccess) return device().broken;
  const std::byte* host = device().at(from, bytes);
  if (host == nullptr) return kInvalidValue;
  std::memcpy(to, host, bytes);
  return kSuccess;
}
FAKE cuMemsetD8Async(CudaAddress to, unsigned char value, std::size_t bytes, CudaStream) {
  Work fill;
  fill.to = to;
  fill.value = value;
  fill.bytes = bytes;
  return device().submit(std::move(fill));
}
FAKE cuMemsetD8_v2(CudaAddress to, unsigned char value, std::size_t bytes) {
  return cuMemsetD8Async(to, value, bytes, nullptr);
}

FAKE cuStreamCreate(CudaStream* stream, unsigned) {
  static char kStream;
  *stream = reinterpret_cast<CudaStream>(&kStream);
  return kSuccess;
}
FAKE cuStreamDestroy_v2(CudaStream) { return kSuccess; }
FAKE cuStreamQuery(CudaStream) { return device().hangs ? kNotReady : device().broken; }
FAKE cuStreamBeginCapture_v2(CudaStream, int) {
  device().captured.emplace();
  return kSuccess;
}
FAKE cuStreamEndCapture(CudaStream, CudaGraph* graph) {
  *graph = reinterpret_cast<CudaGraph>(new std::vector<Work>(std::move(*device().captured)));
  device().captured.reset();
  return kSuccess;
}
FAKE cuGraphInstantiateWithFlags(CudaGraphExec* exec, CudaGraph graph, unsigned long long) {
  *exec =
      reinterpret_cast<CudaGraphExec>(new std::vector<Work>(*reinterpret_cast<std::vector<Work>*>(graph)));
  return kSuccess;
}
FAKE cuGraphLaunch(CudaGraphExec exec, CudaStream) {
  for (const Work& work : *reinterpret_cast<std::vector<Work>*>(exec)) {
    if (const CudaStatus status = device().submit(work); status != kSuccess) return status;
  }
  return kSuccess;
}
FAKE cuGraphExecDestroy(CudaGraphExec exec) {
  delete reinterpret_cast<std::vector<Work>*>(exec);
  return kSuccess;
}
FAKE cuGraphDestroy(CudaGraph graph) {
  delete reinterpret_cast<std::vector<Work>*>(graph);
  return kSuccess;
}

FAKE cuEventCreate(CudaEvent* event, unsigned) {
  *event = reinterpret_cast<CudaEvent>(new Clock::time_point());
  return kSuccess;
}
FAKE cuEventDestroy_v2(CudaEvent event) {
  delete reinterpret_cast<Clock::time_point*>(event);
  return kSuccess;
}
FAKE cuEventRecord(CudaEvent event, CudaStream) {
  *reinterpret_cast<Clock::time_point*>(event) = Clock::now();
  return kSuccess;
}
FAKE cuEventElapsedTime(float* milliseconds, CudaEvent from, CudaEvent to) {
  const auto passed = *reinterpret_cast<Clock::time_point*>(to) - *reinterpret_cast<Clock::time_point*>(from);
  *milliseconds = std::chrono::duration<float, std::milli>(passed).count();
  return device().broken;
}

FAKE cuModuleLoadDataEx(CudaModule* module, const void* image, unsigned options, int* names, void** values) {
  if (device().broken != kSuccess) return device().broken;
  std::string log;
  FakeModule* loaded = nullptr;
  const CudaStatus status = device().load(image, &loaded, &log);
  *module = reinterpret_cast<CudaModule>(loaded);
  constexpr int kErrorLog = 5;
  for (unsigned n = 0; n < options; ++n) {
    if (names[n] == kErrorLog) std::strcpy(static_cast<char*>(values[n]), log.substr(0, 200).c_str());
  }
  return status;
}
FAKE cuModuleUnload(CudaModule module) {
  delete reinterpret_cast<FakeModule*>(module);
  return kSuccess;
}
FAKE cuModuleGetFunction(CudaFunction* function, CudaModule module, const char* name) {
  for (const auto& known : reinterpret_cast<FakeModule*>(module)->functions) {
    if (known->entry.name != name) continue;
    *function = reinterpret_cast<CudaFunction>(known.get());
    return kSuccess;
  }
  return kNotFound;
}
FAKE cuFuncGetAttribute(int* value, int attribute, CudaFunction function) {
  const ptx::EntryInfo& entry = own(function)->entry;
  const ptx::Dim3 most = entry.required_block.value_or(entry.max_block.value_or(ptx::Dim3{1024, 1, 1}));
  *value = 0;
  if (attribute == gpu::cuda_attribute::kMaxThreads) *value = static_cast<int>(most.x * most.y * most.z);
  if (attribute == gpu::cuda_attribute::kStaticShared) *value = static_cast<int>(entry.static_shared_bytes);
  return kSuccess;
}
FAKE cuFuncSetAttribute(CudaFunction, int, int) { return kSuccess; }

FAKE cuLaunchKernelEx(const CudaLaunchConfig* config, CudaFunction function, void** parameters, void**) {
  Work work;
  work.function = own(function);
  const ptx::EntryInfo& entry = work.function->entry;
  work.launch.entry = entry.name;
  work.launch.grid = {config->grid_x, config->grid_y, config->grid_z};
  work.launch.block = {config->block_x, config->block_y, config->block_z};
  work.launch.dynamic_shared_bytes = config->shared_bytes;
  for (unsigned n = 0; n < config->attribute_count; ++n) {
    const CudaLaunchAttribute& attribute = config->attributes[n];
    if (attribute.id == CudaLaunchAttribute::kCooperative) work.launch.cooperative = attribute.value[0] != 0;
    if (attribute.id == CudaLaunchAttribute::kClusterDimension) {
      work.launch.cluster = ptx::Dim3{attribute.value[0], attribute.value[1], attribute.value[2]};
    }
  }
  work.launch.parameters.resize(entry.parameter_bytes);
  for (std::size_t n = 0; n < entry.parameters.size(); ++n) {
    std::memcpy(work.launch.parameters.data() + entry.parameters[n].offset, parameters[n],
                entry.parameters[n].size);
  }
  return device().submit(std::move(work));
}

FAKE cuTensorMapEncodeTiled(void* to, int type, std::uint32_t rank, void* address, const std::uint64_t* dims,
                            const std::uint64_t* strides, const std::uint32_t* box, const std::uint32_t*, int,
                            int swizzle, int, int) {
  using Element = ptx::MapElement;
  constexpr std::pair<Element, std::uint32_t> kTypes[] = {
      {Element::kU8, 1},  {Element::kU16, 2}, {Element::kU32, 4}, {Element::kS32, 4}, {Element::kU64, 8},
      {Element::kS64, 8}, {Element::kF16, 2}, {Element::kF32, 4}, {Element::kF64, 8}, {Element::kBF16, 2}};
  if (type < 0 || type >= static_cast<int>(std::size(kTypes)) || rank < 1 || rank > 5) return kInvalidValue;
  ptx::TensorMap map;
  map.address = reinterpret_cast<std::uint64_t>(address);
  std::tie(map.element, map.element_bytes) = kTypes[type];
  map.rank = rank;
  map.swizzle = static_cast<ptx::Swizzle>(swizzle);
  map.strides[0] = map.element_bytes;
  for (std::uint32_t n = 0; n < rank; ++n) {
    map.dims[n] = dims[n];
    map.box[n] = box[n];
    if (n > 0) map.strides[n] = strides[n - 1];
  }
  if (!problem_of(map).empty()) return kInvalidValue;
  const ptx::TensorMapBytes bytes = encode(map);
  std::memcpy(to, bytes.data(), bytes.size());
  return kSuccess;
}

// As cuBLAS it answers too, and computes nothing.
extern "C" __attribute__((visibility("default"))) int cublasCreate_v2(void** handle) {
  static char kHandle;
  *handle = &kHandle;
  return 0;
}
extern "C" __attribute__((visibility("default"))) int cublasDestroy_v2(void*) { return 0; }
extern "C" __attribute__((visibility("default"))) int cublasSetStream_v2(void*, CudaStream) { return 0; }
extern "C" __attribute__((visibility("default"))) int cublasGemmEx(void*, int, int, int, int, int,
                                                                   const void*, const void*, int, int,
                                                                   const void*, int, int, const void*, void*,
                                                                   int, int, int, int) {
  return 0;
}
