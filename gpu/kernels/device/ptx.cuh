// The instructions that CUDA C++ has no plain form for, one wrapper each.
#pragma once

#include <cstdint>

namespace moe4::device {

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// 16 bytes to shared memory, asynchronously; zeros instead, and nothing read, unless `real`.
__device__ __forceinline__ void copy_async_16(void* to, const void* from, bool real) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(real ? 16 : 0)
               : "memory");
}

__device__ __forceinline__ void copy_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// All groups but the kPending latest have landed, for the thread that copied.
template <int kPending>
__device__ __forceinline__ void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// What this thread has written to shared memory, once a barrier has followed, is what wgmma and TMA read.
__device__ __forceinline__ void proxy_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// c += a·b, BF16 in, FP32 accumulators: a is 16×16 by rows, b 16×8 by columns. With g = lane/4, t = lane%4:
// a[0], a[2] row g and a[1], a[3] row g+8, columns 2t, 2t+1 and (a[2], a[3]) 8 more; b[0] rows 2t, 2t+1 and
// b[1] 8 more, column g; c[0], c[1] row g and c[2], c[3] row g+8, columns 2t, 2t+1.
__device__ __forceinline__ void mma_m16n8k16(float (&c)[4], const std::uint32_t (&a)[4],
                                             const std::uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Two 8×8 matrices of 16-bit elements; lane l gives the address of row l%8 of matrix l/8 and receives
// row l/4, columns 2(l%4), 2(l%4)+1 of each.
__device__ __forceinline__ void load_matrices(std::uint32_t (&to)[2], unsigned row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(to[0]), "=r"(to[1])
               : "r"(row)
               : "memory");
}

// Four.
__device__ __forceinline__ void load_matrices(std::uint32_t (&to)[4], unsigned row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row)
               : "memory");
}

// The reverse for two matrices, each transposed on the way: lane l holds column l/4, rows 2(l%4), 2(l%4)+1.
__device__ __forceinline__ void store_matrices_transposed(unsigned row, std::uint32_t first,
                                                          std::uint32_t second) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(row), "r"(first),
               "r"(second)
               : "memory");
}

// From here on the threads of this warpgroup have kCount registers each.
template <int kCount>
__device__ __forceinline__ void fewer_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
}
template <int kCount>
__device__ __forceinline__ void more_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
}

}  // namespace moe4::device
