// cuBLAS as a yardstick: the same rows times one dense BF16 matrix. The library is opened at run time, where
// it is there.
#pragma once

#include <memory>
#include <string>

#include "gpu/device/cuda_session.h"
#include "gpu/device/cuda_timing.h"

namespace moe4::gpu {

class DenseProduct {
 public:
  virtual ~DenseProduct() = default;
  // [rows,I] × [O,I] → [rows,O], BF16 in and out, FP32 sums.
  virtual Timing time(std::int64_t rows, std::int64_t out, std::int64_t in,
                      const TimingSettings& settings) = 0;
};

struct OpenedDenseProduct {
  std::unique_ptr<DenseProduct> product;  // null: why, in `error`
  std::string error;
};

// library: its path; empty: libcublas.so.13, then .so.12, where the system finds them. The session outlives
// the product.
OpenedDenseProduct open_dense_product(CudaSession& session, const std::string& library);

}  // namespace moe4::gpu
