// Our declarations of the driver API against cuda.h, where a toolkit has it.
#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

#include "gpu/device/cuda_driver.h"
#include "gpu/device/cuda_tensor_map.h"

#if __has_include(<cuda.h>)
// clang-format off
#include <cuda.h>
#include <cudaTypedefs.h>
// clang-format on

namespace moe4::gpu {
namespace {

static_assert(cuda_status::kSuccess == CUDA_SUCCESS &&
              cuda_status::kOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY &&
              cuda_status::kNoDevice == CUDA_ERROR_NO_DEVICE &&
              cuda_status::kInvalidImage == CUDA_ERROR_INVALID_IMAGE &&
              cuda_status::kNoBinaryForGpu == CUDA_ERROR_NO_BINARY_FOR_GPU &&
              cuda_status::kUnsupportedPtx == CUDA_ERROR_UNSUPPORTED_PTX_VERSION &&
              cuda_status::kNotFound == CUDA_ERROR_NOT_FOUND &&
              cuda_status::kNotReady == CUDA_ERROR_NOT_READY &&
              cuda_status::kIllegalAddress == CUDA_ERROR_ILLEGAL_ADDRESS &&
              cuda_status::kMisalignedAddress == CUDA_ERROR_MISALIGNED_ADDRESS &&
              cuda_status::kLaunchFailed == CUDA_ERROR_LAUNCH_FAILED);
static_assert(cuda_attribute::kMultiprocessors == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT &&
              cuda_attribute::kMajor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR &&
              cuda_attribute::kMinor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR &&
              cuda_attribute::kSharedOptIn == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
static_assert(cuda_attribute::kMaxThreads == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK &&
              cuda_attribute::kStaticShared == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES &&
              cuda_attribute::kDynamicShared == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES &&
              cuda_attribute::kNonPortableCluster == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);

static_assert(CudaLaunchAttribute::kCooperative == CU_LAUNCH_ATTRIBUTE_COOPERATIVE &&
              CudaLaunchAttribute::kClusterDimension == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
static_assert(sizeof(CudaLaunchAttribute) == sizeof(CUlaunchAttribute) &&
              offsetof(CudaLaunchAttribute, value) == offsetof(CUlaunchAttribute, value));
static_assert(sizeof(CudaLaunchConfig) == sizeof(CUlaunchConfig) &&
              offsetof(CudaLaunchConfig, shared_bytes) == offsetof(CUlaunchConfig, sharedMemBytes) &&
              offsetof(CudaLaunchConfig, stream) == offsetof(CUlaunchConfig, hStream) &&
              offsetof(CudaLaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs) &&
              offsetof(CudaLaunchConfig, attribute_count) == offsetof(CUlaunchConfig, numAttrs));
static_assert(sizeof(CUtensorMap) == 128 && alignof(CUtensorMap) <= kCudaTensorMapAlign);
static_assert(CU_TENSOR_MAP_DATA_TYPE_UINT8 == 0 && CU_TENSOR_MAP_DATA_TYPE_UINT16 == 1 &&
              CU_TENSOR_MAP_DATA_TYPE_INT64 == 5 && CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 == 9 &&
              CU_TENSOR_MAP_SWIZZLE_128B == 3);
static_assert(CU_JIT_ERROR_LOG_BUFFER == 5 && CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES == 6);

// A parameter of ours stands for one of theirs if it has its size and its kind: pointer, integer, float.
template <class Ours, class Theirs>
constexpr bool stands_for =
    sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> ==
                                          std::is_pointer_v<Theirs>&& std::is_floating_point_v<Ours> ==
                                          std::is_floating_point_v<Theirs>;

template <class Ours, class Theirs>
struct SameCall : std::false_type {};
template <class R, class... Ours, class S, class... Theirs>
struct SameCall<R (*)(Ours...), S (*)(Theirs...)>
    : std::bool_constant<sizeof...(Ours) == sizeof...(Theirs) && stands_for<R, S>> {
  static constexpr bool parameters() {
    if constexpr (sizeof...(Ours) == sizeof...(Theirs)) {
      return (stands_for<Ours, Theirs> && ...);
    } else {
      return false;
    }
  }
};

#define SAME(member, theirs)                                            \
  static_assert(SameCall<decltype(CudaDriver::member), theirs>::value); \
  static_assert(SameCall<decltype(CudaDriver::member), theirs>::parameters())

SAME(init, PFN_cuInit_v2000);
SAME(driver_version, PFN_cuDriverGetVersion_v2020);
SAME(error_name, PFN_cuGetErrorName_v6000);
SAME(device_name, PFN_cuDeviceGetName_v2000);
SAME(device_attribute, PFN_cuDeviceGetAttribute_v2000);
SAME(context_retain, PFN_cuDevicePrimaryCtxRetain_v7000);
SAME(context_release, PFN_cuDevicePrimaryCtxRelease_v11000);
SAME(context_set, PFN_cuCtxSetCurrent_v4000);
SAME(memory_info, PFN_cuMemGetInfo_v3020);
SAME(allocate, PFN_cuMemAlloc_v3020);
SAME(release, PFN_cuMemFree_v3020);
SAME(to_device, PFN_cuMemcpyHtoD_v3020);
SAME(from_device, PFN_cuMemcpyDtoH_v3020);
SAME(fill, PFN_cuMemsetD8_v3020);
SAME(fill_later, PFN_cuMemsetD8Async_v3020);
SAME(stream_create, PFN_cuStreamCreate_v2000);
SAME(stream_destroy, PFN_cuStreamDestroy_v4000);
SAME(stream_query, PFN_cuStreamQuery_v2000);
SAME(begin_capture, PFN_cuStreamBeginCapture_v10010);
SAME(end_capture, PFN_cuStreamEndCapture_v10000);
SAME(graph_instantiate, PFN_cuGraphInstantiateWithFlags_v11040);
SAME(graph_launch, PFN_cuGraphLaunch_v10000);
SAME(graph_exec_destroy, PFN_cuGraphExecDestroy_v10000);
SAME(graph_destroy, PFN_cuGraphDestroy_v10000);
SAME(event_create, PFN_cuEventCreate_v2000);
SAME(event_destroy, PFN_cuEventDestroy_v4000);
SAME(event_record, PFN_cuEventRecord_v2000);
SAME(event_elapsed, PFN_cuEventElapsedTime_v2000);
SAME(module_load, PFN_cuModuleLoadDataEx_v2010);
SAME(module_unload, PFN_cuModuleUnload_v2000);
SAME(module_function, PFN_cuModuleGetFunction_v2000);
SAME(function_attribute, PFN_cuFuncGetAttribute_v2020);
SAME(set_attribute, PFN_cuFuncSetAttribute_v9000);
SAME(launch, PFN_cuLaunchKernelEx_v11060);
SAME(encode_tensor_map, PFN_cuTensorMapEncodeTiled_v12000);
static_assert(!SameCall<decltype(CudaDriver::init), PFN_cuMemGetInfo_v3020>::value, "a difference is seen");

TEST(CudaAbi, DeclarationsAreThoseOfCudaH) {
  SUCCEED() << "the assertions above are of this file's compilation";
}

}  // namespace
}  // namespace moe4::gpu

#else

TEST(CudaAbi, DeclarationsAreThoseOfCudaH) { GTEST_SKIP() << "no toolkit with cuda.h"; }

#endif
