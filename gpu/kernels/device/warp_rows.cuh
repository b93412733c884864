// The main loop of the warp kernels for rows: a warp makes output o of up to four rows, and decodes each
// weight once for those of them that have the same expert.
//
//   output[to(r),o] = rn_bf16( c_0 after the joins c_l ← c_l + c_{l xor s}, s = 16, 8, 4, 2, 1 )
//   c_l             = Σ_{i : (i/8) % 32 = l} w[e(r),o,i] · latent_tokens[from(r),i]
//                     order lanes(32,8)+shfl: each c_l is one chain of fma in order of i
//
// A step of the loop is one word of eight codes a lane: 128 bytes of codes and 512 of tokens a warp.
#pragma once

#include <cstdint>

#include "gpu/kernels/device/parts.cuh"
#include "gpu/kernels/device/token.cuh"
#include "gpu/kernels/device/warp.cuh"
#include "gpu/kernels/device/word_weights.cuh"

namespace moe4::device {

constexpr int kRowsAWarp = 4;
constexpr int kWarpsABlock = 4;

// Where a row comes from and goes to; expert < 0: there is no row at this place.
struct Row {
  std::int64_t from = 0, to = 0;
  std::int64_t expert = -1;
};

// One output of the rows whose bit is set in `mask`, all of expert e. The others are not touched, nor are
// their tokens.
template <class Weights>
__device__ __forceinline__ void warp_rows_of_expert(const Bf16* __restrict__ latent_tokens,
                                                    const std::uint32_t* __restrict__ codes,
                                                    const typename Weights::Scale* __restrict__ scales,
                                                    Bf16* __restrict__ output, std::int64_t I, std::int64_t O,
                                                    std::int64_t o, const Row (&rows)[kRowsAWarp],
                                                    unsigned mask) {
  const int lane = threadIdx.x % kLanes;
  float chain[kRowsAWarp] = {};
  for (std::int64_t word = lane; word < whole_parts_of<kWordCodes>(I); word += kLanes) {
    const Weights weights(codes[word], scales[whole_parts_of<kGroup / kWordCodes>(word)]);
#pragma unroll
    for (int r = 0; r < kRowsAWarp; ++r) {
      if ((mask >> r & 1u) == 0) continue;
      float x[kWordCodes];
      load8(latent_tokens + rows[r].from * I + word * kWordCodes, x);
      weights.fit(x);
#pragma unroll
      for (int k = 0; k < kWordCodes; ++k) chain[r] = fma_rn(weights.w[k], x[k], chain[r]);
    }
  }
#pragma unroll
  for (int r = 0; r < kRowsAWarp; ++r) {
    if ((mask >> r & 1u) == 0) continue;
    const float sum = sum_over_lanes(chain[r]);
    if (lane == 0) store_rn(output + rows[r].to * O + o, sum);
  }
}

// row_at(place) gives the row of each place; blocks of four warps, one dimension,
// ceil(places/4) · ceil(O/4) of them, outputs innermost.
template <class Weights, class RowAt>
__device__ __forceinline__ void warp_rows(const Bf16* __restrict__ latent_tokens,
                                          const std::uint32_t* __restrict__ packed_weights,
                                          const typename Weights::Scale* __restrict__ scales,
                                          Bf16* __restrict__ output, std::int64_t I, std::int64_t O,
                                          const RowAt& row_at) {
  const unsigned output_blocks = parts_of<kWarpsABlock>(O);
  const std::int64_t o = std::int64_t{blockIdx.x % output_blocks} * kWarpsABlock + threadIdx.x / kLanes;
  if (o >= O) return;  // whole warps only: the shuffles are by all lanes
  const std::int64_t first = std::int64_t{blockIdx.x / output_blocks} * kRowsAWarp;

  Row rows[kRowsAWarp];
  unsigned waiting = 0;
#pragma unroll
  for (int r = 0; r < kRowsAWarp; ++r) {
    rows[r] = row_at(first + r);
    waiting |= (rows[r].expert >= 0 ? 1u : 0u) << r;
  }
  while (waiting != 0) {
    std::int64_t expert = 0;
    unsigned mask = 0;
#pragma unroll
    for (int r = kRowsAWarp - 1; r >= 0; --r) expert = waiting >> r & 1u ? rows[r].expert : expert;
#pragma unroll
    for (int r = 0; r < kRowsAWarp; ++r) mask |= (rows[r].expert == expert ? 1u : 0u) << r;
    waiting &= ~mask;
    const std::int64_t row = expert * O + o;
    warp_rows_of_expert<Weights>(latent_tokens, packed_weights + row * whole_parts_of<kWordCodes>(I),
                                 scales + row * whole_parts_of<kGroup>(I), output, I, O, o, rows, mask);
  }
}

}  // namespace moe4::device
