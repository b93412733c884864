// Stream-K: a tile of wgmma_indexed.cuh whose columns are shared by kSlices blocks. Each rounds its sum to
// BF16; the last columns are stored, and the sums of those before are added in turn, in BF16.
//
//   output[to(r),o] = v_0,  v_s = rn_bf16( d_s + v_{s+1} ) from the last slice that has columns, v_s = d_s
//   there d_s             = rn_bf16( Σ_tree c_j ) over the columns of the groups ⌊s·G/n⌋ … ⌊(s+1)·G/n⌋-1, G =
//   I/32,
//                     n = kSlices; c_j as in wgmma_indexed.cuh, columns counted from the first of the slice
//                     order streamk(n), or streamk(n)*warps(64,kSlabs)+tree
//
// Where n divides I/64 this is the cut of a flat range of work over n blocks a tile (PRO-14). Blocks of one
// turn follow each other in the grid, those of the last columns first, so that a block waits for blocks
// before it only: however few of them run at once, the first of those that have not ended can go on.
#pragma once

#include <cstdint>

#include "gpu/kernels/device/turns.cuh"
#include "gpu/kernels/device/wgmma_indexed.cuh"

namespace moe4::device {

// Adds what is stored to what is there, in BF16: one rounding.
struct AddingStore {
  __device__ __forceinline__ void operator()(uint4* to, const uint4& eight) const {
    constexpr std::uint32_t kOnes = 0x3F803F80u;
    const uint4 before = *to;
    *to = {fma_rn_bf16x2(eight.x, kOnes, before.x), fma_rn_bf16x2(eight.y, kOnes, before.y),
           fma_rn_bf16x2(eight.z, kOnes, before.z), fma_rn_bf16x2(eight.w, kOnes, before.w)};
  }
};

// turns: one count a tile.
template <class Tile, int kSlices>
__device__ __forceinline__ void wgmma_stream_k(const Bf16* __restrict__ latent_tokens,
                                               const std::uint32_t* __restrict__ packed_weights,
                                               const std::uint16_t* __restrict__ scales,
                                               const IndexedIds& ids, Bf16* output, std::int64_t I,
                                               std::int64_t O, std::int32_t* turns) {
  static_assert(kSlices == 2 || kSlices == 3, "more are not added in order; and an empty slice is the first");
  extern __shared__ __align__(1024) std::uint8_t dynamic_memory[];
  __shared__ IndexedRows<Tile::kRows> rows;
  __shared__ IndexedWork work;
  __shared__ std::int32_t turn_of_block, is_last;  // not in registers, as `work`
  const unsigned tiles = gridDim.x / kSlices, place = blockIdx.x % tiles;
  const std::int64_t expert = indexed_rows<Tile>(rows, ids, O, place);
  if (expert < 0) return;
  if (threadIdx.x == 0) {
    const auto turn = static_cast<std::int32_t>(blockIdx.x / tiles);
    const unsigned groups = parts_of<32>(I), slice = kSlices - 1 - turn;
    const std::int64_t first = slice * groups / kSlices, end = (slice + 1) * groups / kSlices;
    work = indexed_work<Tile>(latent_tokens, packed_weights, scales, expert, I, O, place);
    work.latent_tokens += first * 32;
    work.packed_weights += first * 2 * (2 * O);
    work.scales += first * O;
    work.columns = (end - first) * 32;
    turn_of_block = turn;
    is_last = turn + 1 == static_cast<int>(min(groups, static_cast<unsigned>(kSlices)));
  }
  __syncthreads();
  if (work.columns == 0 || threadIdx.x >= work.threads) return;
  const IndexedWarp<Tile> warp;
  IndexedSums<Tile> sums = {};
  sum_columns<Tile>(sums, rows, work, warp, dynamic_memory);
  const std::int32_t turn = turn_of_block;
  if (turn == 0) {
    if (warp.slab == 0) store_sums<Tile>(sums, rows, work, warp, dynamic_memory, output, PlainStore());
  } else {
    await_turn(&turns[place], turn);
    if (warp.slab == 0) store_sums<Tile>(sums, rows, work, warp, dynamic_memory, output, AddingStore());
  }
  end_turn(&turns[place], turn, is_last);
}

}  // namespace moe4::device
