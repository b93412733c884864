#include "gpu/measure/dense_product.h"

#include <dlfcn.h>

#include <array>
#include <vector>

namespace moe4::gpu {
namespace {

// Of cublas_v2.h: what a BF16 product with FP32 sums is called there.
constexpr int kTransposed = 1, kAsItIs = 0, kBf16 = 14, kSumsInF32 = 68, kUsualAlgorithm = -1;

using Handle = void*;
struct Library {
  int (*create)(Handle*) = nullptr;
  int (*destroy)(Handle) = nullptr;
  int (*set_stream)(Handle, CudaStream) = nullptr;
  int (*gemm)(Handle, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int,
              const void*, void*, int, int, int, int) = nullptr;
};

class CublasProduct : public DenseProduct {
 public:
  CublasProduct(CudaSession& session, const Library& library, Handle handle)
      : session_(session), library_(library), handle_(handle) {}
  ~CublasProduct() override {
    if (!session_.lost()) library_.destroy(handle_);
  }

  Timing time(std::int64_t rows, std::int64_t out, std::int64_t in, const TimingSettings& settings) override {
    const CudaDriver& driver = session_.driver();
    const std::int64_t elements[3] = {out * in, rows * in, rows * out};
    std::array<CudaAddress, 3> buffers{};
    Timing timing;
    for (std::size_t n = 0; n < buffers.size() && timing.error.empty(); ++n) {
      CudaStatus status = driver.allocate(&buffers[n], static_cast<std::size_t>(2 * elements[n]));
      // Bytes 0x3C are BF16 numbers of about 0.01.
      if (status == cuda_status::kSuccess)
        status = driver.fill(buffers[n], 0x3C, static_cast<std::size_t>(2 * elements[n]));
      if (status != cuda_status::kSuccess) timing.error = "operands of cuBLAS: " + driver.words(status);
    }
    const auto start = [&] {
      const float one = 1, zero = 0;
      const int failed = library_.gemm(
          handle_, kTransposed, kAsItIs, static_cast<int>(out), static_cast<int>(rows), static_cast<int>(in),
          &one, reinterpret_cast<void*>(buffers[0]), kBf16, static_cast<int>(in),
          reinterpret_cast<void*>(buffers[1]), kBf16, static_cast<int>(in), &zero,
          reinterpret_cast<void*>(buffers[2]), kBf16, static_cast<int>(out), kSumsInF32, kUsualAlgorithm);
      return failed == 0 ? cuda_status::kSuccess : cuda_status::kNotFound;
    };
    if (timing.error.empty()) timing = measure_launch(session_, start, settings);
    for (const CudaAddress buffer : buffers) {
      if (buffer != 0 && !session_.lost()) driver.release(buffer);
    }
    return timing;
  }

 private:
  CudaSession& session_;
  Library library_;
  Handle handle_;
};

template <class Function>
bool find(void* library, const char* symbol, Function& to) {
  to = reinterpret_cast<Function>(dlsym(library, symbol));
  return to != nullptr;
}

}  // namespace

OpenedDenseProduct open_dense_product(CudaSession& session, const std::string& path) {
  std::vector<std::string> candidates = {path};
  if (path.empty()) candidates = {"libcublas.so.13", "libcublas.so.12"};
  void* opened = nullptr;
  std::string error;
  for (const std::string& candidate : candidates) {
    if (opened == nullptr) opened = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr && error.empty()) error = dlerror();
  }
  if (opened == nullptr) return {nullptr, "no cuBLAS: " + error};
  Library library;
  if (!find(opened, "cublasCreate_v2", library.create) ||
      !find(opened, "cublasDestroy_v2", library.destroy) ||
      !find(opened, "cublasSetStream_v2", library.set_stream) ||
      !find(opened, "cublasGemmEx", library.gemm)) {
    return {nullptr, "no cuBLAS: entry points are missing"};
  }
  Handle handle = nullptr;
  if (const int failed = library.create(&handle); failed != 0) {
    return {nullptr, "no cuBLAS: it cannot start, status " + std::to_string(failed)};
  }
  library.set_stream(handle, session.stream());
  return {std::make_unique<CublasProduct>(session, library, handle), ""};
}

}  // namespace moe4::gpu
