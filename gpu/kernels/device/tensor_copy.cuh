// TMA: boxes of tensors to shared memory, by one thread. The tensor map says shape, box and swizzle
// (gpu/launch/tensor_maps.h makes it); what lies outside of the tensor arrives as zeros.
#pragma once

#include <cstdint>

#include "gpu/kernels/device/mbarrier.cuh"

namespace moe4::device {

// What the host passes by value: __grid_constant__ const TensorMap.
struct alignas(64) TensorMap {
  unsigned char bytes[128];
};

// The box whose first element is (x, y, z), x the fastest; its bytes count for the phase of `full`.
__device__ __forceinline__ void tensor_copy(void* to, const TensorMap& map, int x, int y, int z,
                                            Mbarrier* full) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
      "[%5];" ::"r"(shared_address(to)),
      "l"(&map), "r"(x), "r"(y), "r"(z), "r"(shared_address(full))
      : "memory");
}

// Where byte `offset` of a box lies whose rows of kLine bytes (32, 64, 128) are swizzled with that span: the
// 16-byte chunks of a line are exchanged by the 128-byte line that they are in. The box is aligned to 1024.
template <int kLine>
__device__ __forceinline__ unsigned swizzled(unsigned offset) {
  static_assert(kLine == 32 || kLine == 64 || kLine == 128, "a swizzle of TMA");
  return offset ^ ((offset >> 7 & (kLine / 16 - 1)) << 4);
}

}  // namespace moe4::device
