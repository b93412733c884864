// The driver's tensor map from our own description.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "gpu/device/cuda_driver.h"
#include "gpu/ptx/tensor_map.h"

namespace moe4::gpu {

inline constexpr std::size_t kCudaTensorMapAlign = 128;  // of CUtensorMap; drivers refuse another address

// nullopt: *error says which rule the description breaks, or what the driver says of it.
std::optional<ptx::TensorMapBytes> encode_for_cuda(const CudaDriver& driver, const ptx::TensorMap& map,
                                                   std::string* error);

}  // namespace moe4::gpu
