// wgmma.mma_async: a warpgroup's product m64nNk16, BF16 in, FP32 accumulators, A from registers and B from
// shared memory.
//
// With w the warp of the warpgroup, g = lane/4, t = lane%4: a[0], a[2] are row 16w+g of A and a[1], a[3] row
// 16w+g+8, columns 2t, 2t+1 and (a[2], a[3]) 8 more. sums[j][0], [1] are row 16w+g and [2], [3] row 16w+g+8
// of the product, columns 8j+2t, 8j+2t+1.
//
// The instruction reads its registers and B until a wait has seen its group end; the fence stands between
// ordinary writes of registers and the instructions that use them.
#pragma once

#include <cstdint>

namespace moe4::device {

__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// All groups but the kPending latest have ended.
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// Keeps the compiler from moving reads of the sums to before the wait that this call follows.
template <int kBlocks>
__device__ __forceinline__ void pin(float (&sums)[kBlocks][4]) {
#pragma unroll
  for (int j = 0; j < kBlocks; ++j) {
    asm volatile("" : "+f"(sums[j][0]), "+f"(sums[j][1]), "+f"(sums[j][2]), "+f"(sums[j][3])::"memory");
  }
}

// B in shared memory: rows of 64 columns (128 bytes) with the 128-byte swizzle, column by column along the
// reduction (K-major). `first` is the address of the step's first column in the first row; the tile begins at
// a multiple of 1024, eight rows further on are 1024 bytes.
__device__ __forceinline__ std::uint64_t swizzled_matrix(unsigned first) {
  constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62, kEightRows = std::uint64_t{1024 >> 4} << 32,
                          kLeadingUnused = std::uint64_t{1} << 16;
  return kSwizzle128 | kEightRows | kLeadingUnused | first >> 4;
}

// wgmma(sums, a, b): sums += a · b. The compiler has no way to number operands, so they are spelt out.
#define MOE4_R8 "%0, %1, %2, %3"
#define MOE4_R16 MOE4_R8 ", %4, %5, %6, %7"
#define MOE4_R32 MOE4_R16 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define MOE4_R48 MOE4_R32 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define MOE4_R64 MOE4_R48 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define MOE4_R96 MOE4_R64 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define MOE4_R128 MOE4_R96 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"

#define MOE4_R176                                                                           \
  MOE4_R128                                                                                 \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, " \
  "%81, %82, %83, %84, %85, %86, %87"

#define MOE4_S(j) "+f"(sums[j][0]), "+f"(sums[j][1]), "+f"(sums[j][2]), "+f"(sums[j][3])
#define MOE4_S8 MOE4_S(0)
#define MOE4_S16 MOE4_S8, MOE4_S(1)
#define MOE4_S32 MOE4_S16, MOE4_S(2), MOE4_S(3)
#define MOE4_S48 MOE4_S32, MOE4_S(4), MOE4_S(5)
#define MOE4_S64 MOE4_S48, MOE4_S(6), MOE4_S(7)
#define MOE4_S96 MOE4_S64, MOE4_S(8), MOE4_S(9), MOE4_S(10), MOE4_S(11)
#define MOE4_S128 MOE4_S96, MOE4_S(12), MOE4_S(13), MOE4_S(14), MOE4_S(15)
#define MOE4_S176 MOE4_S128, MOE4_S(16), MOE4_S(17), MOE4_S(18), MOE4_S(19), MOE4_S(20), MOE4_S(21)

#define MOE4_WGMMA(N, a0, a1, a2, a3, desc)                                                             \
  __device__ __forceinline__ void wgmma(float(&sums)[N / 8][4], const std::uint32_t(&a)[4],             \
                                        std::uint64_t b) {                                              \
    asm volatile("{\n.reg .pred add;\nsetp.eq.u32 add, 0, 0;\nwgmma.mma_async.sync.aligned.m64n" #N     \
                 "k16.f32.bf16.bf16 {" MOE4_R##N "}, {%" #a0 ", %" #a1 ", %" #a2 ", %" #a3 "}, %" #desc \
                                                 ", add, 1, 1, 0;\n}"                                   \
                 : MOE4_S##N                                                                            \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)                                   \
                 : "memory");                                                                           \
  }

// N, then the numbers of the operands that follow the N/2 sums.
MOE4_WGMMA(16, 8, 9, 10, 11, 12)
MOE4_WGMMA(32, 16, 17, 18, 19, 20)
MOE4_WGMMA(64, 32, 33, 34, 35, 36)
MOE4_WGMMA(96, 48, 49, 50, 51, 52)
MOE4_WGMMA(128, 64, 65, 66, 67, 68)
MOE4_WGMMA(176, 88, 89, 90, 91, 92)

}  // namespace moe4::device
