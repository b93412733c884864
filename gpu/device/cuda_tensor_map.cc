#include "gpu/device/cuda_tensor_map.h"

#include <cstring>

namespace moe4::gpu {
namespace {

// CUtensorMapDataType. Without a type of its own an element is a word of bits: outside arrive zeros for all
// alike.
int cuda_type(const ptx::TensorMap& map) {
  constexpr int kU8 = 0, kU16 = 1, kU32 = 2, kS32 = 3, kU64 = 4, kS64 = 5, kF16 = 6, kF32 = 7, kF64 = 8,
                kBF16 = 9;
  switch (map.element) {
    case ptx::MapElement::kU8:
      return kU8;
    case ptx::MapElement::kU16:
      return kU16;
    case ptx::MapElement::kU32:
      return kU32;
    case ptx::MapElement::kS32:
      return kS32;
    case ptx::MapElement::kU64:
      return kU64;
    case ptx::MapElement::kS64:
      return kS64;
    case ptx::MapElement::kF16:
      return kF16;
    case ptx::MapElement::kBF16:
      return kBF16;
    case ptx::MapElement::kF32:
      return kF32;
    case ptx::MapElement::kF64:
      return kF64;
    case ptx::MapElement::kBits:
      break;
  }
  return map.element_bytes == 1 ? kU8 : map.element_bytes == 2 ? kU16 : map.element_bytes == 4 ? kU32 : kU64;
}

}  // namespace

std::optional<ptx::TensorMapBytes> encode_for_cuda(const CudaDriver& driver, const ptx::TensorMap& map,
                                                   std::string* error) {
  if (std::string problem = problem_of(map); !problem.empty()) {
    *error = "tensor map: " + problem;
    return std::nullopt;
  }
  struct alignas(kCudaTensorMapAlign) {
    ptx::TensorMapBytes bytes{};
  } encoded;
  constexpr std::uint32_t kEach[5] = {1, 1, 1, 1, 1};
  const CudaStatus status =
      driver.encode_tensor_map(&encoded, cuda_type(map), map.rank, reinterpret_cast<void*>(map.address),
                               map.dims.data(), map.strides.data() + 1, map.box.data(), kEach, 0,
                               kCudaTensorMapSwizzleNone + static_cast<int>(map.swizzle), 0, 0);
  if (status != cuda_status::kSuccess) {
    *error = "cuTensorMapEncodeTiled: " + driver.words(status);
    return std::nullopt;
  }
  return encoded.bytes;
}

}  // namespace moe4::gpu
