// Matrix products as a compiler writes them, for the tests and the bench of the PTX executor: D = A * B^T in
// FP32, A [M, K] and B [N, K] in BF16. gemm_sm_90a.ptx is this file through
//   nvcc -arch=sm_90a -std=c++17 -O3 -ptx gemm.cu -o gemm_sm_90a.ptx
#include <cstdint>

namespace {

struct alignas(64) TensorMap {
  char bytes[128];
};

__device__ __forceinline__ std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

// ---- mbarriers and TMA

__device__ __forceinline__ void init(std::uint32_t barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}
__device__ __forceinline__ void wait(std::uint32_t barrier, std::uint32_t parity) {
  asm volatile(
      "{\n.reg .pred done;\nAGAIN:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra DONE;\nbra AGAIN;\nDONE:\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}
__device__ __forceinline__ void arrive(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void expect(std::uint32_t barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void load(std::uint32_t to, const TensorMap* map, int x, int y,
                                     std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
      "[%4];" ::"r"(to),
      "l"(map), "r"(x), "r"(y), "r"(barrier)
      : "memory");
}

// ---- wgmma

#define R4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define R16(i) R4(i), R4(i + 4), R4(i + 8), R4(i + 12)

__device__ __forceinline__ void multiply(float (&d)[32], std::uint64_t a, std::uint64_t b, int scale) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, "
      "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "%32, %33, p, 1, 1, 0, 0;\n}"
      : R16(0), R16(16)
      : "l"(a), "l"(b), "r"(scale));
}
__device__ __forceinline__ void multiply(float (&d)[128], std::uint64_t a, std::uint64_t b, int scale) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, "
      "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, "
      "%42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, "
      "%62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, "
      "%82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, "
      "%101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, "
      "%117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
      "%128, %129, p, 1, 1, 0, 0;\n}"
      : R16(0), R16(16), R16(32), R16(48), R16(64), R16(80), R16(96), R16(112)
      : "l"(a), "l"(b), "r"(scale));
}

// K-major, 128-byte swizzle, 1024 bytes from one group of eight rows to the next.
__device__ __forceinline__ std::uint64_t descriptor(std::uint32_t address) {
  return (std::uint64_t{1} << 62) | (std::uint64_t{64} << 32) | (std::uint64_t{1} << 16) | (address >> 4);
}

constexpr int kStages = 3, kDepth = 64;  // of K, a stage

// 160 threads: a warpgroup that multiplies, a warp of which one thread copies. One tile of 64 × N.
template <int N>
__device__ __forceinline__ void warp_specialized(const TensorMap& a_map, const TensorMap& b_map, float* out,
                                                 int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ __align__(8) std::uint64_t barriers[2 * kStages];
  constexpr std::uint32_t kA = 64 * kDepth * 2, kStage = kA + N * kDepth * 2;
  const std::uint32_t tiles = shared_address(memory), full = shared_address(barriers),
                      empty = full + 8 * kStages;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, blocks = (k + kDepth - 1) / kDepth;
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      init(full + 8 * s, 1);
      init(empty + 8 * s, 4);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  int stage = 0;
  std::uint32_t parity = 0;
  const auto advance = [&] {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  };
  if (warp == 4) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (lane == 0) {
#pragma unroll 1
      for (int i = 0; i < blocks; ++i) {
        wait(empty + 8 * stage, parity ^ 1);
        expect(full + 8 * stage, kStage);
        load(tiles + stage * kStage, &a_map, i * kDepth, 0, full + 8 * stage);
        load(tiles + stage * kStage + kA, &b_map, i * kDepth, blockIdx.x * N, full + 8 * stage);
        advance();
      }
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  float d[N / 2];
#pragma unroll
  for (int i = 0; i < N / 2; ++i) d[i] = 0;
  int before = 0;
#pragma unroll 1
  for (int i = 0; i < blocks; ++i) {
    wait(full + 8 * stage, parity);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    const std::uint64_t a = descriptor(tiles + stage * kStage), b = descriptor(tiles + stage * kStage + kA);
#pragma unroll
    for (int step = 0; step < kDepth / 16; ++step) multiply(d, a + 2 * step, b + 2 * step, 1);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    // The products of the block before are done.
    if (i > 0 && lane == 0) arrive(empty + 8 * before);
    before = stage;
    advance();
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
  for (int i = 0; i < N / 2; ++i) {
    const int row = warp * 16 + lane / 4 + 8 * (i / 2 % 2), column = 8 * (i / 4) + 2 * (lane % 4) + i % 2;
    out[row * (gridDim.x * N) + blockIdx.x * N + column] = d[i];
  }
}

// ---- mma.sync

__device__ __forceinline__ void copy16(std::uint32_t to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
__device__ __forceinline__ void load4(std::uint32_t (&r)[4], std::uint32_t from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(from)
               : "memory");
}
__device__ __forceinline__ void multiply(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                         std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace

extern "C" __global__ void __launch_bounds__(160)
    wgmma_64(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float* out, int k) {
  warp_specialized<64>(a, b, out, k);
}

extern "C" __global__ void __launch_bounds__(160)
    wgmma_256(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float* out, int k) {
  warp_specialized<256>(a, b, out, k);
}

// 128 threads, a tile of 64 × 64, each warp 16 rows of it; cp.async two stages ahead, rows of 64 bytes whose
// 16-byte chunks are exchanged by the row.
extern "C" __global__ void __launch_bounds__(128)
    mma_64(const std::uint16_t* a, const std::uint16_t* b, float* out, int k) {
  constexpr int kRing = 3, kSlab = 32;  // of K, a stage
  __shared__ __align__(128) std::uint16_t tiles[kRing][2][64 * kSlab];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, slabs = k / kSlab;
  const auto place = [](int row, int chunk) { return row * kSlab * 2 + ((chunk ^ (row / 2 % 4)) * 16); };
  const auto fetch = [&](int slab) {
    if (slab < slabs) {
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        const int row = part * 32 + threadIdx.x / 4, chunk = threadIdx.x % 4;
        const long from = static_cast<long>(row) * k + slab * kSlab + chunk * 8;
        copy16(shared_address(tiles[slab % kRing][0]) + place(row, chunk), a + from);
        copy16(shared_address(tiles[slab % kRing][1]) + place(row, chunk),
               b + static_cast<long>(blockIdx.x) * 64 * k + from);
      }
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  float d[8][4] = {};
  fetch(0);
  fetch(1);
#pragma unroll 1
  for (int slab = 0; slab < slabs; ++slab) {
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    fetch(slab + 2);
    const std::uint32_t at = shared_address(tiles[slab % kRing][0]),
                        bt = shared_address(tiles[slab % kRing][1]);
#pragma unroll
    for (int step = 0; step < 2; ++step) {
      std::uint32_t fa[4], fb[4][4];
      load4(fa, at + place(warp * 16 + lane % 16, 2 * step + lane / 16));
#pragma unroll
      for (int j = 0; j < 4; ++j)
        load4(fb[j], bt + place(j * 16 + lane % 8 + lane / 16 * 8, 2 * step + lane / 8 % 2));
#pragma unroll
      for (int j = 0; j < 8; ++j) multiply(d[j], fa, fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]);
    }
  }
#pragma unroll
  for (int j = 0; j < 8; ++j) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = warp * 16 + lane / 4 + i / 2 * 8, column = j * 8 + lane % 4 * 2 + i % 2;
      out[row * (gridDim.x * 64) + blockIdx.x * 64 + column] = d[j][i];
    }
  }
}
