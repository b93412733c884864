// A kernel that takes tensor maps: MXFP4, grouped_contiguous, its tiles of tokens and weights through TMA.
// Its declaration (tma_tile.json) describes the maps. tma_tile_sm90.ptx is this file through
//   nvcc -arch=sm_90a -std=c++17 -O3 --fmad=false -I. -ptx tma_tile.cu -o tma_tile_sm90.ptx      (at the root
//   of the tree)
//
// A block of 32 threads makes 32 outputs of one row: output[r,o] = rn(the chain of
// w[e,o,i]·latent_tokens[r,i] in order of i), e = m_indices[r]. Its tile of tokens is the eight rows that
// hold r, 64 columns a step, swizzled by 128 bytes; its tile of weights 32 rows of 64 codes, swizzled by 32.
#include <cstdint>

#include "gpu/kernels/device/mxfp4_decode.cuh"

using namespace moe4::device;

struct alignas(64) TensorMap {
  char bytes[128];
};

namespace {

constexpr int kColumns = 64, kRows = 8, kOutputs = 32;
constexpr std::uint32_t kTokenBytes = kRows * kColumns * 2, kWeightBytes = kOutputs * kColumns / 2;

__device__ __forceinline__ std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

__device__ __forceinline__ void load_box(void* to, const TensorMap& map, int x, int y,
                                         std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
      "%3}], [%4];" ::"r"(shared_address(to)),
      "l"(&map), "r"(x), "r"(y), "r"(barrier)
      : "memory");
}

}  // namespace

extern "C" __global__ void __launch_bounds__(32)
    tma_tile(const __grid_constant__ TensorMap tokens, const __grid_constant__ TensorMap weights,
             const std::uint8_t* __restrict__ scale_bytes, const std::int32_t* __restrict__ m_indices,
             std::uint16_t* __restrict__ output, int I, int O) {
  __shared__ alignas(1024) std::uint8_t token_tile[kTokenBytes];
  __shared__ alignas(1024) std::uint8_t weight_tile[kWeightBytes];
  __shared__ alignas(8) std::uint64_t full;
  const int row = blockIdx.y, first = blockIdx.x * kOutputs, o = first + threadIdx.x, groups = I / kGroup;
  const int expert = m_indices[row];
  if (expert < 0) return;
  const std::uint32_t barrier = shared_address(&full);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  float sum = 0;
  for (int step = 0; step * kColumns < I; ++step) {
    if (threadIdx.x == 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                   "r"(kTokenBytes + kWeightBytes)
                   : "memory");
      load_box(token_tile, tokens, step * kColumns, row / kRows * kRows, barrier);
      load_box(weight_tile, weights, step * kColumns / 2, expert * O + first, barrier);
    }
    asm volatile(
        "{\n.reg .pred done;\nAGAIN:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra AGAIN;\n}" ::"r"(barrier),
        "r"(step & 1)
        : "memory");
    for (int part = 0; part < kColumns / kGroup && step * 2 + part < groups; ++part) {
      const Scale scale = split_scale(
          o < O ? scale_bytes[(static_cast<std::int64_t>(expert) * O + o) * groups + step * 2 + part] : 127);
      for (int i = 0; i < kGroup; ++i) {
        const int column = part * kGroup + i;
        // The hardware swizzles address bits; the tiles start on 1024.
        const int x = ((row % kRows) * 128 + column * 2) ^ ((row % kRows) << 4);
        const int w = threadIdx.x * 32 + column / 2;
        const std::uint32_t byte = weight_tile[w ^ (((w >> 7) & 1) << 4)];
        const float value = code_times_2_pow_minus_126(byte, column % 2);
        const float token = float_of_low_bf16(*reinterpret_cast<const std::uint16_t*>(token_tile + x));
        sum = fma_rn(mul_rn(mul_rn(value, scale.narrow), scale.wide), token, sum);
      }
    }
    __syncthreads();
  }
  if (o < O) output[static_cast<std::int64_t>(row) * O + o] = bf16_rn(sum);
}
