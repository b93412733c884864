#include "gpu/device/cuda_session.h"

#include <fstream>
#include <thread>

namespace moe4::gpu {
namespace {

using Clock = std::chrono::steady_clock;

// cuTensorMapEncodeTiled and cuLaunchKernelEx with clusters: the first that has both.
constexpr int kOldestDriver = 12000;

constexpr const char* kNoDevice = "no device: ";

std::string module_version() {
  std::ifstream file("/sys/module/nvidia/version");
  std::string version;
  std::getline(file, version);
  return version;
}

}  // namespace

std::string cuda_version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

bool kills_context(CudaStatus status) {
  // Illegal address, launch timeout, destroyed context, assert; 714 to 719: stack error, illegal instruction,
  // misaligned address, invalid address space, invalid program counter, launch failure.
  constexpr CudaStatus kDestroyed = 709, kFirstFault = 714;
  return status == cuda_status::kIllegalAddress || status == cuda_status::kLaunchTimeout ||
         status == kDestroyed || status == cuda_status::kAssert ||
         (status >= kFirstFault && status <= cuda_status::kLaunchFailed);
}

CudaSession::~CudaSession() {
  if (lost_) return;  // its end is the process's: with a kernel that hangs, every call here would
  if (stream_ != nullptr) driver_->stream_destroy(stream_);
  if (retained_) driver_->context_release(device_);
}

CudaStatus CudaSession::wait(std::chrono::duration<double> limit) const {
  const Clock::time_point begin = Clock::now();
  while (true) {
    const CudaStatus status = driver_->stream_query(stream_);
    if (status != cuda_status::kNotReady) return status;
    const auto passed = Clock::now() - begin;
    if (passed > limit) return status;
    if (passed > std::chrono::milliseconds(5)) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

OpenedCuda open_cuda(const CudaSettings& settings, bool for_work) {
  OpenedCudaDriver opened = open_cuda_driver(settings.driver);
  if (!opened.driver) return {nullptr, kNoDevice + opened.error};
  const CudaDriver& driver = *opened.driver;
  std::unique_ptr<CudaSession> session(new CudaSession);
  session->driver_ = opened.driver;
  CudaChip& chip = session->chip_;
  const auto refuse = [&](const std::string& what, CudaStatus status) {
    return OpenedCuda{nullptr, kNoDevice + what + ": " + driver.words(status)};
  };
  if (driver.driver_version(&chip.driver_version) == cuda_status::kSuccess &&
      chip.driver_version < kOldestDriver) {
    return {nullptr, std::string(kNoDevice) + "the driver speaks CUDA " + cuda_version(chip.driver_version) +
                         "; CUDA " + cuda_version(kOldestDriver) + " is the oldest that serves here"};
  }
  if (const CudaStatus status = driver.init(0); status != cuda_status::kSuccess)
    return refuse("cuInit", status);
  int count = 0;
  if (const CudaStatus status = driver.device_count(&count); status != cuda_status::kSuccess) {
    return refuse("cuDeviceGetCount", status);
  }
  if (settings.ordinal < 0 || settings.ordinal >= count) {
    return {nullptr, std::string(kNoDevice) + "number " + std::to_string(settings.ordinal) + " of " +
                         std::to_string(count) + " GPUs does not exist"};
  }
  if (const CudaStatus status = driver.device_get(&session->device_, settings.ordinal);
      status != cuda_status::kSuccess) {
    return refuse("cuDeviceGet", status);
  }
  char name[256] = "";
  driver.device_name(name, sizeof name - 1, session->device_);
  chip.name = name;
  const auto attribute = [&](int which) {
    int value = 0;
    driver.device_attribute(&value, which, session->device_);
    return value;
  };
  chip.capability = 10 * attribute(cuda_attribute::kMajor) + attribute(cuda_attribute::kMinor);
  chip.multiprocessors = attribute(cuda_attribute::kMultiprocessors);
  chip.shared_bytes = attribute(cuda_attribute::kSharedOptIn);
  chip.module_version = module_version();
  if (!for_work) return {std::move(session), ""};
  CudaContext context = nullptr;
  if (const CudaStatus status = driver.context_retain(&context, session->device_);
      status != cuda_status::kSuccess) {
    return refuse("the context of " + chip.name + " cannot be made", status);
  }
  session->retained_ = true;
  if (const CudaStatus status = driver.context_set(context); status != cuda_status::kSuccess) {
    return refuse("cuCtxSetCurrent", status);
  }
  if (const CudaStatus status = driver.stream_create(&session->stream_, 0); status != cuda_status::kSuccess) {
    return refuse("cuStreamCreate", status);
  }
  return {std::move(session), ""};
}

}  // namespace moe4::gpu
