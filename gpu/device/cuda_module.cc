#include "gpu/device/cuda_module.h"

#include <array>

#include "gpu/device/cuda_image.h"

namespace moe4::gpu {
namespace {

// CUjit_option: where the compiler writes what it has to say, and how much fits.
constexpr int kErrorLog = 5, kErrorLogBytes = 6;

constexpr std::uint32_t kPortableCluster = 8;  // blocks; more only where the entry is told so

// "sm_90" of capability 90.
std::string chip_word(int capability) { return "sm_" + std::to_string(capability); }

std::string names_of(std::span<const KernelImage> images) {
  std::string names;
  for (const KernelImage& image : images) names += (names.empty() ? "" : ", ") + std::string(image.target);
  return names;
}

}  // namespace

CudaModules::~CudaModules() {
  if (session_->lost()) return;
  for (const auto& [text, loaded] : modules_) {
    if (loaded.module != nullptr) session_->driver().module_unload(loaded.module);
  }
}

CudaModules::Loaded CudaModules::load_image(const KernelLaunch& launch, std::string_view target,
                                            const void* image) {
  const CudaDriver& driver = session_->driver();
  std::array<char, 4096> log{};
  std::array<int, 2> names = {kErrorLog, kErrorLogBytes};
  std::array<void*, 2> values = {log.data(), reinterpret_cast<void*>(log.size() - 1)};
  Loaded loaded;
  loaded.from = target;
  const CudaStatus status = driver.module_load(&loaded.module, image, 2, names.data(), values.data());
  if (status == cuda_status::kSuccess) return loaded;
  loaded.module = nullptr;
  const std::string what = launch.module_name + ", " + std::string(target) + ": ";
  loaded.unsupported = status == cuda_status::kUnsupportedPtx || status == cuda_status::kNoBinaryForGpu ||
                       status == cuda_status::kInvalidImage;
  loaded.error = what + driver.words(status);
  if (status == cuda_status::kUnsupportedPtx) {
    loaded.error += ": the driver speaks CUDA " + cuda_version(session_->chip().driver_version) +
                    ", older than the compiler of this kernel";
  }
  std::string said(log.data());
  if (const std::size_t end = said.find('\n'); end != std::string::npos) said.resize(end);
  if (!said.empty()) loaded.error += ": " + said;
  return loaded;
}

// Machine code that the driver does not take (it is older than the compiler, say) leaves its own compiler.
const CudaModules::Loaded& CudaModules::load(const KernelLaunch& launch) {
  const auto known = modules_.find(launch.ptx);
  if (known != modules_.end()) return known->second;
  const int capability = session_->chip().capability;
  Loaded loaded;
  if (const KernelImage* image = pick_image(launch.images, capability); image != nullptr) {
    loaded = load_image(launch, image->target, image->bytes.data());
  }
  const std::string target = ptx_target(launch.ptx);
  if (loaded.module == nullptr && runs_on(target, capability)) {
    const std::string text(launch.ptx);  // ends with a zero
    Loaded compiled = load_image(launch, target, text.c_str());
    if (compiled.module != nullptr || loaded.error.empty()) loaded = std::move(compiled);
  }
  if (loaded.module == nullptr && loaded.error.empty()) {
    const std::string made = launch.images.empty() ? target : names_of(launch.images) + ", " + target;
    loaded.unsupported = true;
    loaded.error = launch.module_name + ": compiled for " + made + ", which " + session_->chip().name + " (" +
                   chip_word(capability) + ") cannot run";
  }
  return modules_.emplace(launch.ptx, std::move(loaded)).first->second;
}

CudaModules::Entry CudaModules::entry(const KernelLaunch& launch) {
  const CudaDriver& driver = session_->driver();
  const Loaded& loaded = load(launch);
  if (loaded.module == nullptr) return {nullptr, loaded.error, loaded.unsupported, loaded.from};
  Entry entry;
  entry.compiled_from = loaded.from;
  const auto refuse = [&](std::string text, bool unsupported) {
    return Entry{nullptr, launch.entry + ": " + std::move(text), unsupported, loaded.from};
  };
  CudaStatus status = driver.module_function(&entry.function, loaded.module, launch.entry.c_str());
  if (status != cuda_status::kSuccess)
    return refuse("no such entry in " + launch.module_name + ": " + driver.words(status), false);
  const auto attribute = [&](int which) {
    int value = 0;
    driver.function_attribute(&value, which, entry.function);
    return value;
  };
  const std::uint64_t shared =
      attribute(cuda_attribute::kStaticShared) + std::uint64_t{launch.dynamic_shared_bytes};
  if (shared > static_cast<std::uint64_t>(session_->chip().shared_bytes)) {
    return refuse(std::to_string(shared) + " bytes of shared memory, a block of " + session_->chip().name +
                      " has " + std::to_string(session_->chip().shared_bytes),
                  true);
  }
  const std::uint64_t threads = std::uint64_t{launch.block.x} * launch.block.y * launch.block.z;
  if (const int most = attribute(cuda_attribute::kMaxThreads); threads > static_cast<std::uint64_t>(most)) {
    return refuse(std::to_string(threads) + " threads a block, at most " + std::to_string(most), false);
  }
  if (launch.dynamic_shared_bytes > 0) {
    status = driver.set_attribute(entry.function, cuda_attribute::kDynamicShared,
                                  static_cast<int>(launch.dynamic_shared_bytes));
    if (status != cuda_status::kSuccess)
      return refuse("dynamic shared memory: " + driver.words(status), false);
  }
  if (launch.cluster && launch.cluster->x * launch.cluster->y * launch.cluster->z > kPortableCluster) {
    status = driver.set_attribute(entry.function, cuda_attribute::kNonPortableCluster, 1);
    if (status != cuda_status::kSuccess)
      return refuse("a cluster of so many blocks: " + driver.words(status), true);
  }
  return entry;
}

}  // namespace moe4::gpu
