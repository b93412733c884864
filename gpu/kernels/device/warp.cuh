// What the lanes of a warp do together.
#pragma once

#include "gpu/kernels/device/numeric.cuh"

namespace moe4::device {

constexpr int kLanes = 32;

// Every lane gets the sum: addition commutes, so both lanes of a pair compute the same bits.
__device__ __forceinline__ float sum_over_lanes(float value) {
#pragma unroll
  for (int step = kLanes / 2; step > 0; step /= 2) {
    value = add_rn(value, __shfl_xor_sync(0xFFFFFFFFu, value, step));
  }
  return value;
}

}  // namespace moe4::device
