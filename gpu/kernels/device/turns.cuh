// Turns between the blocks that share a tile, counted in global memory: turn t begins when turn t-1 has
// ended. The count of each tile is zero before a launch, and zero again after it.
#pragma once

#include <cstdint>

namespace moe4::device {

__device__ __forceinline__ std::int32_t load_acquire(const std::int32_t* at) {
  std::int32_t value;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
}

__device__ __forceinline__ void store_release(std::int32_t* at, std::int32_t value) {
  asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}

// By all threads that are left of a block. After it they see what the turns before have stored.
__device__ __forceinline__ void await_turn(const std::int32_t* turns, std::int32_t turn) {
  if (threadIdx.x == 0) {
    while (load_acquire(turns) != turn) {
    }
  }
  __syncthreads();
}

// By all threads that are left of a block: what they have stored is seen by the next turn.
__device__ __forceinline__ void end_turn(std::int32_t* turns, std::int32_t turn, bool is_last) {
  __syncthreads();
  if (threadIdx.x == 0) store_release(turns, is_last ? 0 : turn + 1);
}

}  // namespace moe4::device
