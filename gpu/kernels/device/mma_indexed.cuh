// The main loops of the mma.sync kernels for indexed rows in the layout indexed_mma: a warp makes 64 outputs
// of all rows of the tile. Stages of kDepth columns come by cp.async, kStages-1 of them in flight.
//
//   output[to(r),o] = rn_bf16( c ),  c ← c + Σ_{i in step} w[e,o,i] · tokens[from(r),i] from +0
//                     steps of 16 columns, ascending: order seq on a tensor core of 16 products a step
//
// Swapped (decode): outputs are the M side, eight rows an N side. Not swapped (wide): 16 rows are the M side.
#pragma once

#include <cstdint>

#include "gpu/kernels/device/indexed_places.cuh"
#include "gpu/kernels/device/int4_decode.cuh"
#include "gpu/kernels/device/row_outputs.cuh"

namespace moe4::device {

constexpr int kWarpWords = 4;  // 16 outputs each

// The weights of one step of 16 columns: four words of 16 outputs, their scales in the order of the layout.
// Register n of a word is its nibbles n and n+4: outputs +8·(n/2), columns +8·(n%2).
struct StepWeights {
  std::uint32_t words[kWarpWords];
  std::uint32_t scales[kWarpWords];  // of outputs g and g+8

  template <class Tile>
  __device__ __forceinline__ StepWeights(const IndexedStage<Tile>& stage, int warp, int step) {
    const int lane = threadIdx.x % kLanes;
    const uint4 w = *reinterpret_cast<const uint4*>(&stage.codes[step][warp * 128 + lane * 4]);
    const uint4 s = *reinterpret_cast<const uint4*>(&stage.scales[step / 2][warp * 64 + lane / 4 * 8]);
    words[0] = w.x, words[1] = w.y, words[2] = w.z, words[3] = w.w;
    scales[0] = s.x, scales[1] = s.y, scales[2] = s.z, scales[3] = s.w;
  }

  __device__ __forceinline__ std::uint32_t decoded(int word, int n) const {
    const std::uint32_t scale = n < 2 ? scales[word] & 0xFFFFu : scales[word] >> 16;
    return int4_weight_pair(words[word], n, scale * 0x00010001u);
  }
};

// sums[word][tile]: 16 outputs × 8 rows.
template <int kTiles, class Tile>
__device__ __forceinline__ void multiply_swapped(float (&sums)[kWarpWords][Tile::kRows / 8][4],
                                                 const IndexedStage<Tile>& stage) {
  const int warp = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
#pragma unroll
  for (int step = 0; step < Tile::kDepth / 16; ++step) {
    const StepWeights weights(stage, warp, step);
    std::uint32_t tokens[kTiles][2];
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      const unsigned line = (tile * 8 + lane % 8) * 128 + (step % 4 * 2 + lane / 8 % 2) * 16;
      load_matrices(tokens[tile], shared_address(&stage.tokens[step / 4][0][0] + swizzled<128>(line)));
    }
#pragma unroll
    for (int word = 0; word < kWarpWords; ++word) {
      const std::uint32_t a[4] = {weights.decoded(word, 0), weights.decoded(word, 2),
                                  weights.decoded(word, 1), weights.decoded(word, 3)};
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) mma_m16n8k16(sums[word][tile], a, tokens[tile]);
    }
  }
}

// sums[tile][2·word + half]: 16 rows × 8 outputs.
template <class Tile>
__device__ __forceinline__ void multiply_wide(float (&sums)[Tile::kRows / 16][2 * kWarpWords][4],
                                              const IndexedStage<Tile>& stage) {
  const int warp = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
#pragma unroll
  for (int step = 0; step < Tile::kDepth / 16; ++step) {
    const StepWeights weights(stage, warp, step);
    std::uint32_t tokens[Tile::kRows / 16][4];
#pragma unroll
    for (int tile = 0; tile < Tile::kRows / 16; ++tile) {
      const unsigned line = (tile * 16 + lane % 16) * 128 + (step % 4 * 2 + lane / 16) * 16;
      load_matrices(tokens[tile], shared_address(&stage.tokens[step / 4][0][0] + swizzled<128>(line)));
    }
#pragma unroll
    for (int word = 0; word < kWarpWords; ++word) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const std::uint32_t b[2] = {weights.decoded(word, 2 * half), weights.decoded(word, 2 * half + 1)};
#pragma unroll
        for (int tile = 0; tile < Tile::kRows / 16; ++tile) {
          mma_m16n8k16(sums[tile][2 * word + half], tokens[tile], b);
        }
      }
    }
  }
}

// Brings the stages in turn; multiply(stage) is called with each when it has landed. Afterwards all have done
// with all of them. rows: how many of the tile are looked at.
template <class Tile, class Multiply>
__device__ __forceinline__ void for_each_stage(IndexedStage<Tile>* stages, const IndexedWork& work,
                                               const std::int32_t* sources, int rows,
                                               const Multiply& multiply) {
  const int steps = static_cast<int>(parts_of<Tile::kDepth>(work.columns));
  const auto fetch = [&](int k) {
    if (k < steps) copy_stage(stages[k % Tile::kStages], work, sources, rows, k);
    copy_async_commit();
  };
#pragma unroll 1
  for (int k = 0; k < Tile::kStages - 1; ++k) fetch(k);
#pragma unroll 1
  for (int k = 0; k < steps; ++k) {
    copy_async_wait<Tile::kStages - 2>();
    __syncthreads();  // all have the stage, and have done with the one before, which is filled again
    fetch(k + Tile::kStages - 1);
    multiply(stages[k % Tile::kStages]);
  }
  copy_async_wait<0>();
  __syncthreads();
}

// Rows of the tile up to the last one that is due, in eights.
template <class Tile>
__device__ __forceinline__ int populated_tiles(const IndexedRows<Tile::kRows>& rows) {
  static_assert(Tile::kRows <= kLanes, "a lane a row");
  const int lane = threadIdx.x % kLanes;
  const unsigned due = __ballot_sync(0xFFFFFFFFu, lane < Tile::kRows && rows.ids[lane % Tile::kRows] >= 0);
  return (kLanes - __clz(static_cast<int>(due)) + 7) / 8;
}

template <class Tile>
__device__ __forceinline__ void mma_indexed_swapped(const IndexedWork& work,
                                                    const IndexedRows<Tile::kRows>& rows,
                                                    Bf16* __restrict__ output, std::uint8_t* memory) {
  static_assert(Tile::kRows == 24, "one to three tiles of eight rows");
  const int warp = threadIdx.x / kLanes;
  const auto stages = reinterpret_cast<IndexedStage<Tile>*>(memory);
  float sums[kWarpWords][3][4] = {};
  const int tiles = populated_tiles<Tile>(rows);
  const auto run = [&](auto multiply) {
    for_each_stage<Tile>(stages, work, rows.sources, tiles * 8, multiply);
  };
  if (tiles == 1) {
    run([&](const IndexedStage<Tile>& stage) { multiply_swapped<1>(sums, stage); });
  } else if (tiles == 2) {
    run([&](const IndexedStage<Tile>& stage) { multiply_swapped<2>(sums, stage); });
  } else {
    run([&](const IndexedStage<Tile>& stage) { multiply_swapped<3>(sums, stage); });
  }
#pragma unroll
  for (int word = 0; word < kWarpWords; ++word) {
    store_outputs<true>(sums[word], memory + (warp * kWarpWords + word) * Tile::kRows * kWarpOutputs * 2,
                        output, work.O, work.first_output + warp * 64 + word * kWarpOutputs,
                        [&](int r) { return std::int64_t{rows.ids[r]}; });
  }
}

template <class Tile>
__device__ __forceinline__ void mma_indexed_wide(const IndexedWork& work,
                                                 const IndexedRows<Tile::kRows>& rows,
                                                 Bf16* __restrict__ output, std::uint8_t* memory) {
  const int lane = threadIdx.x % kLanes;
  const std::int64_t first = work.first_output + threadIdx.x / kLanes * 64;
  float sums[Tile::kRows / 16][2 * kWarpWords][4] = {};
  for_each_stage<Tile>(reinterpret_cast<IndexedStage<Tile>*>(memory), work, rows.sources, Tile::kRows,
                       [&](const IndexedStage<Tile>& stage) { multiply_wide(sums, stage); });
#pragma unroll
  for (int tile = 0; tile < Tile::kRows / 16; ++tile) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::int64_t id = rows.ids[tile * 16 + half * 8 + lane / 4];
      if (id < 0) continue;
#pragma unroll
      for (int n = 0; n < 2 * kWarpWords; ++n) {
        *reinterpret_cast<std::uint32_t*>(output + id * work.O + first + n * 8 + lane % 4 * 2) =
            bf16x2_rn(sums[tile][n][half * 2], sums[tile][n][half * 2 + 1]);
      }
    }
  }
}

}  // namespace moe4::device
