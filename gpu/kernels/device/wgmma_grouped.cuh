// The main loop of the wgmma kernels for grouped rows, operands swapped: outputs are the M side, the rows
// of the tile the N side. A warpgroup multiplies for every 64 outputs; one more copies, and gives up its
// registers for that. Tokens, codes and scales come in stages of kDepth columns through a ring of mbarriers.
//
//   output[to(r),o] = rn_bf16( c ),  c ← c + Σ_{i in step} w[e,o,i] · tokens[r,i] from +0
//                     steps of 16 columns, ascending: order seq on a tensor core of 16 products a step
//
// The weights of a group of 32 columns are decoded into registers while the products of the group before are
// under way.
#pragma once

#include <cstdint>

#include "gpu/kernels/device/mbarrier.cuh"
#include "gpu/kernels/device/parts.cuh"
#include "gpu/kernels/device/row_outputs.cuh"
#include "gpu/kernels/device/tensor_copy.cuh"
#include "gpu/kernels/device/wgmma.cuh"
#include "gpu/kernels/device/wgmma_weights.cuh"
#include "gpu/kernels/tiles.h"

namespace moe4::device {

template <class Weights, class Tile>
struct GroupedStage {
  // Slabs of 64 columns, one 128-byte line a row, 128-byte swizzle: what wgmma reads.
  alignas(1024) std::uint8_t tokens[Tile::kDepth / 64][Tile::kRows][128];
  alignas(1024) std::uint8_t codes[Tile::kOutputs][Tile::kDepth / 2];
  alignas(1024) typename Weights::Scale scales[Tile::kGroups][Tile::kOutputs];
};

template <class Weights, class Tile>
struct GroupedMemory {
  GroupedStage<Weights, Tile> stages[Tile::kStages];
  std::uint8_t outputs[Tile::kConsumerWarps][Tile::kRows * kWarpOutputs * 2];
};

// What a block computes. tokens: boxes of kRows rows × 64 columns of [planes, rows, I]; codes: boxes of
// kOutputs rows × kDepth/2 bytes of [E, O, I/2].
struct GroupedWork {
  const TensorMap& tokens;
  const TensorMap& codes;
  std::int64_t I, O;
  int first_row, plane;
  int expert, first_output;
};

// The scale bytes of output `thread` of the tile, [E,O,G]; zero beyond O and G, where codes and tokens are
// zeros too.
template <class Tile>
__device__ __forceinline__ void load_scale_bytes(std::uint8_t (&scales)[Tile::kGroups],
                                                 const std::uint8_t* __restrict__ scale_bytes,
                                                 const GroupedWork& work, int thread, int first_group) {
  static_assert(Tile::kOutputs == kWarpgroupThreads, "a thread an output");
  const std::int64_t groups = parts_of<32>(work.I), o = work.first_output + thread;
  const std::uint8_t* const row = scale_bytes + (work.expert * work.O + o) * groups;
#pragma unroll
  for (int g = 0; g < Tile::kGroups; ++g) {
    scales[g] = o < work.O && first_group + g < groups ? row[first_group + g] : std::uint8_t{0};
  }
}

template <class Weights, class Tile>
__device__ __forceinline__ void fill_stages(GroupedMemory<Weights, Tile>& memory,
                                            Pipeline<Tile::kStages>& pipeline, const GroupedWork& work,
                                            typename Weights::ScaleSource scale_source, int steps) {
  constexpr unsigned kCopiedBytes =
      Tile::kTokenBytes + Tile::kCodeBytes + (Weights::kScalesByCopy ? Tile::kGroupScaleBytes : 0);
  const int thread = threadIdx.x % kWarpgroupThreads;
  if (Weights::kScalesByCopy && thread != 0) return;
  StageCursor<Tile::kStages> at;
#pragma unroll 1
  for (int k = 0; k < steps; ++k, at.advance()) {
    GroupedStage<Weights, Tile>& stage = memory.stages[at.stage];
    Mbarrier* const full = &pipeline.full[at.stage];
    [[maybe_unused]] std::uint8_t scales[Tile::kGroups];
    if constexpr (!Weights::kScalesByCopy) {
      load_scale_bytes<Tile>(scales, scale_source, work, thread, k * Tile::kGroups);
    }
    mbarrier_wait(&pipeline.empty[at.stage], at.parity ^ 1);
    if (thread == 0) {
      mbarrier_arrive_expect(full, kCopiedBytes);
      for (int slab = 0; slab < Tile::kDepth / 64; ++slab) {
        tensor_copy(stage.tokens[slab], work.tokens, k * Tile::kDepth + slab * 64, work.first_row, work.plane,
                    full);
      }
      tensor_copy(stage.codes, work.codes, k * Tile::kDepth / 2, work.first_output, work.expert, full);
      if constexpr (Weights::kScalesByCopy) {
        tensor_copy(stage.scales, scale_source, work.first_output, k * Tile::kGroups, work.expert, full);
      }
    }
    if constexpr (!Weights::kScalesByCopy) {
      for (int g = 0; g < Tile::kGroups; ++g) stage.scales[g][thread] = scales[g];
      mbarrier_arrive(full);
    }
  }
}

// Two groups, a slab of 64 columns; `between` runs when the products of all slabs before have ended.
template <class Weights, class Tile, class Between>
__device__ __forceinline__ void multiply_slab(float (&sums)[Tile::kRows / 8][4],
                                              const GroupedStage<Weights, Tile>& stage, int slab,
                                              int first_output, const Between& between) {
  const unsigned tokens = shared_address(stage.tokens[slab]);
#pragma unroll
  for (int g = 0; g < 2; ++g) {
    const int group = slab * 2 + g;
    const WeightFragment weights = Weights::template fragment<Tile::kDepth / 2>(
        &stage.codes[0][0], stage.scales[group], first_output, group);
    wgmma_fence();
#pragma unroll
    for (int s = 0; s < 2; ++s) wgmma(sums, weights.step[s], swizzled_matrix(tokens + g * 64 + s * 32));
    wgmma_commit();
    wgmma_wait<1>();
    if (g == 0) between();
  }
}

template <class Weights, class Tile>
__device__ __forceinline__ void multiply_stages(float (&sums)[Tile::kRows / 8][4],
                                                GroupedMemory<Weights, Tile>& memory,
                                                Pipeline<Tile::kStages>& pipeline, int steps) {
  const int first_output = threadIdx.x / kLanes * kWarpOutputs;
  StageCursor<Tile::kStages> at;
  int stage_before = -1;
  // At least once: after a loop that might do nothing ptxas would wait for each product alone. For the same
  // reason slabs are a loop: it lets weights be decoded under products only across branches.
  do {
    mbarrier_wait(&pipeline.full[at.stage], at.parity);
#pragma unroll 1
    for (int slab = 0; slab < Tile::kDepth / 64; ++slab) {
      multiply_slab<Weights, Tile>(sums, memory.stages[at.stage], slab, first_output, [&] {
        if (slab > 0 || stage_before < 0) return;
        __syncwarp();
        if (threadIdx.x % kLanes == 0) mbarrier_arrive(&pipeline.empty[stage_before]);
      });
    }
    stage_before = at.stage;
    at.advance();
  } while (--steps > 0);
  wgmma_wait<0>();
  pin(sums);
}

// All threads of the block call it together; row_at(r) is as in store_outputs, r counted from first_row.
template <class Weights, class Tile, class RowAt>
__device__ __forceinline__ void wgmma_grouped(const GroupedWork& work,
                                              typename Weights::ScaleSource scale_source,
                                              Bf16* __restrict__ output, const RowAt& row_at) {
  using Memory = GroupedMemory<Weights, Tile>;
  static_assert(sizeof(Memory) == Tile::kSharedBytes, "what the launch plan asks for");
  extern __shared__ __align__(1024) std::uint8_t dynamic_memory[];
  __shared__ Pipeline<Tile::kStages> pipeline;
  Memory& memory = *reinterpret_cast<Memory*>(dynamic_memory);
  const int steps = static_cast<int>(parts_of<Tile::kDepth>(work.I));
  const int warp = threadIdx.x / kLanes;
  // A warpgroup without an output of its own does nothing: in the last tile of outputs.
  const int multiplying =
      min(static_cast<int>(parts_of<64>(work.O - work.first_output)) * 4, Tile::kConsumerWarps);
  if (threadIdx.x == 0) pipeline.init(Weights::kScalesByCopy ? 1 : 1 + kWarpgroupThreads, multiplying);
  __syncthreads();
  if (warp >= Tile::kConsumerWarps) {
    fewer_registers<Tile::kCopyRegisters>();
    fill_stages<Weights, Tile>(memory, pipeline, work, scale_source, steps);
    return;
  }
  if (warp >= multiplying) return;
  more_registers<Tile::kMultiplyRegisters>();
  float sums[Tile::kRows / 8][4] = {};
  multiply_stages<Weights, Tile>(sums, memory, pipeline, steps);
  store_outputs<Weights::kOutputsInEights>(sums, memory.outputs[warp], output, work.O,
                                           work.first_output + warp * kWarpOutputs, row_at);
}

}  // namespace moe4::device
