// The main loop of the wgmma kernels for indexed rows, operands swapped: outputs are the M side, the rows of
// the tile the N side. All warpgroups bring a stage of kDepth columns by cp.async and multiply: each 128
// outputs of its slab of 64 columns. Slabs of a stage have their own sums, joined at the end.
//
//   output[to(r),o] = rn_bf16( Σ_tree c_j ),  c_j ← c_j + Σ_{i in step} w[e,o,i] · tokens[from(r),i] from +0
//                     over the steps of 16 columns, ascending, with (i/64) % kSlabs = j
//                     order seq (one slab) or warps(64,kSlabs)+tree: halving, c_0+c_1 or (c_0+c_2)+(c_1+c_3)
//
// A warp decodes the weights of 16 outputs while the products of the 16 before are under way.
#pragma once

#include <cstdint>

#include "gpu/kernels/device/indexed_places.cuh"
#include "gpu/kernels/device/int4_decode.cuh"
#include "gpu/kernels/device/row_outputs.cuh"
#include "gpu/kernels/device/wgmma.cuh"

namespace moe4::device {

// The part of a tile that a warp makes.
template <class Tile>
struct IndexedWarp {
  int slab, block;  // 64 columns of a stage; 64 outputs
  int half;         // words 2·half and 2·half+1 of a lane: 16 outputs each

  __device__ __forceinline__ IndexedWarp() {
    const int warp = threadIdx.x / kLanes;
    slab = warp / 4 % Tile::kSlabs;
    block = warp / 4 / Tile::kSlabs * 2 + warp % 4 / 2;
    half = warp % 2;
  }
  __device__ __forceinline__ int first_output(int word) const { return block * 64 + (half * 2 + word) * 16; }
};

// What a lane needs of a slab: for each step the two words of its codes, for each group the scales of its
// four outputs: word, then rows g and g+8.
template <class Tile>
struct SlabWeights {
  std::uint32_t codes[4][2];
  std::uint32_t scales[2][2];  // two BF16 each

  __device__ __forceinline__ SlabWeights(const IndexedStage<Tile>& stage, const IndexedWarp<Tile>& warp) {
    const int lane = threadIdx.x % kLanes;
#pragma unroll
    for (int s = 0; s < 4; ++s) {
      const auto pair = *reinterpret_cast<const uint2*>(
          &stage.codes[warp.slab * 4 + s][warp.block * 128 + lane * 4 + warp.half * 2]);
      codes[s][0] = pair.x, codes[s][1] = pair.y;
    }
#pragma unroll
    for (int g = 0; g < 2; ++g) {
      const auto pair = *reinterpret_cast<const uint2*>(
          &stage.scales[warp.slab * 2 + g][warp.block * 64 + lane / 4 * 8 + warp.half * 4]);
      scales[g][0] = pair.x, scales[g][1] = pair.y;
    }
  }
};

// A slab of the 16 outputs of a word: register n of a step is its nibbles n and n+4, row g+8 where n is odd.
template <class Tile>
__device__ __forceinline__ void multiply_word(float (&sums)[Tile::kRows / 8][4],
                                              const SlabWeights<Tile>& slab, int word, unsigned tokens) {
  std::uint32_t weights[4][4];
#pragma unroll
  for (int s = 0; s < 4; ++s) {
    const std::uint32_t low = (slab.scales[s / 2][word] & 0xFFFFu) * 0x00010001u;
    const std::uint32_t high = (slab.scales[s / 2][word] >> 16) * 0x00010001u;
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      weights[s][n] = int4_weight_pair(slab.codes[s][word], n, n % 2 == 0 ? low : high);
    }
  }
  wgmma_fence();
#pragma unroll
  for (int s = 0; s < 4; ++s) wgmma(sums, weights[s], swizzled_matrix(tokens + s * 32));
  wgmma_commit();
  wgmma_wait<1>();
}

// The sums of the slabs, joined by halving; slab 0 has the result.
template <class Tile>
__device__ __forceinline__ void join_slabs(float (&sums)[2][Tile::kRows / 8][4], float* memory,
                                           const IndexedWarp<Tile>& warp) {
  constexpr int kSums = Tile::kRows;  // of a thread: 2 · kRows/8 · 4
  const int thread = threadIdx.x % kWarpgroupThreads,
            outputs = threadIdx.x / kWarpgroupThreads / Tile::kSlabs;
  for (int step = Tile::kSlabs / 2; step > 0; step /= 2) {
    __syncthreads();
    const int from = warp.slab % step;
    float* const part = memory + (outputs * step + from) * kSums * kWarpgroupThreads + thread;
    if (warp.slab >= step && warp.slab < 2 * step) {
#pragma unroll
      for (int n = 0; n < kSums; ++n)
        part[n * kWarpgroupThreads] = sums[n / (kSums / 2)][n / 4 % (kSums / 8)][n % 4];
    }
    __syncthreads();
    if (warp.slab < step) {
#pragma unroll
      for (int n = 0; n < kSums; ++n) {
        float& sum = sums[n / (kSums / 2)][n / 4 % (kSums / 8)][n % 4];
        sum = add_rn(sum, part[n * kWarpgroupThreads]);
      }
    }
  }
}

template <class Tile>
using IndexedSums = float[2][Tile::kRows / 8][4];  // of the two words of a warp

// The sums over work.columns, joined: those of slab 0 are the result. rows, work and memory are in shared
// memory; by all threads below work.threads.
template <class Tile>
__device__ __forceinline__ void sum_columns(IndexedSums<Tile>& sums, const IndexedRows<Tile::kRows>& rows,
                                            const IndexedWork& work, const IndexedWarp<Tile>& warp,
                                            std::uint8_t* memory) {
  using Stage = IndexedStage<Tile>;
  static_assert(sizeof(Stage) == Tile::kStageBytes, "what the launch plan asks for");
  static_assert(Tile::kSlabs == 1 || Tile::kSlabs == 2 || Tile::kSlabs == 4, "halved to one");
  Stage* const stages = reinterpret_cast<Stage*>(memory);
  const int steps = static_cast<int>(parts_of<Tile::kDepth>(work.columns));
  const auto fetch = [&](int k) {
    if (k < steps) copy_stage(stages[k % Tile::kStages], work, rows.sources, Tile::kRows, k);
    copy_async_commit();
  };
  fetch(0);
  fetch(1);
  int k = 0;
  // At least once, and the copies between the two products: see multiply_stages of wgmma_grouped.cuh.
  do {
    copy_async_wait<1>();
    proxy_fence();
    // All have the stage, and the products of two stages before, which is filled again, have ended.
    __syncthreads();
    const Stage& stage = stages[k % Tile::kStages];
    const SlabWeights<Tile> slab(stage, warp);
    const unsigned tokens = shared_address(stage.tokens[warp.slab]);
    multiply_word(sums[0], slab, 0, tokens);
    fetch(k + 2);
    multiply_word(sums[1], slab, 1, tokens);
  } while (++k < steps);
  wgmma_wait<0>();
  pin(sums[0]);
  pin(sums[1]);
  copy_async_wait<0>();
  join_slabs(sums, reinterpret_cast<float*>(memory), warp);
  __syncthreads();
}

// By the warps of slab 0.
template <class Tile, class Put>
__device__ __forceinline__ void store_sums(const IndexedSums<Tile>& sums,
                                           const IndexedRows<Tile::kRows>& rows, const IndexedWork& work,
                                           const IndexedWarp<Tile>& warp, std::uint8_t* memory,
                                           Bf16* __restrict__ output, const Put& put) {
  std::uint8_t* const tiles =
      memory + threadIdx.x / kLanes % 4 * 2 * Tile::kRows * 32 + warp.block / 2 * 8 * Tile::kRows * 32;
#pragma unroll
  for (int word = 0; word < 2; ++word) {
    store_outputs<true>(
        sums[word], tiles + word * Tile::kRows * 32, output, work.O,
        work.first_output + warp.first_output(word), [&](int r) { return std::int64_t{rows.ids[r]}; }, put);
  }
}

template <class Tile>
__device__ __forceinline__ void wgmma_indexed(const Bf16* __restrict__ latent_tokens,
                                              const std::uint32_t* __restrict__ packed_weights,
                                              const std::uint16_t* __restrict__ scales, const IndexedIds& ids,
                                              Bf16* __restrict__ output, std::int64_t I, std::int64_t O) {
  extern __shared__ __align__(1024) std::uint8_t dynamic_memory[];
  __shared__ IndexedRows<Tile::kRows> rows;
  __shared__ IndexedWork work;  // not in registers: the sums need them
  const unsigned place = blockIdx.x;
  const std::int64_t expert = indexed_rows<Tile>(rows, ids, O, place);
  if (expert < 0) return;
  if (threadIdx.x == 0) work = indexed_work<Tile>(latent_tokens, packed_weights, scales, expert, I, O, place);
  __syncthreads();
  if (threadIdx.x >= work.threads) return;
  const IndexedWarp<Tile> warp;
  IndexedSums<Tile> sums = {};
  sum_columns<Tile>(sums, rows, work, warp, dynamic_memory);
  if (warp.slab == 0) store_sums<Tile>(sums, rows, work, warp, dynamic_memory, output, PlainStore());
}

}  // namespace moe4::device
