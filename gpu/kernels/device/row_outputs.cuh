// From the sums of a wgmma with outputs on its M side to rows of outputs: rounded, transposed through shared
// memory, stored 16 bytes at a time.
#pragma once

#include <cstdint>

#include "gpu/kernels/device/numeric.cuh"
#include "gpu/kernels/device/ptx.cuh"
#include "gpu/kernels/device/tensor_copy.cuh"
#include "gpu/kernels/device/token.cuh"
#include "gpu/kernels/device/warp.cuh"

namespace moe4::device {

constexpr int kWarpOutputs = 16;

struct PlainStore {
  __device__ __forceinline__ void operator()(uint4* to, const uint4& eight) const { *to = eight; }
};

// sums: of the 16 outputs of this warp, first_output and on, and 8·kBlocks rows. row_at(r) is the row of
// `output` that row r goes to, negative where it is not due. tile: of this warp, 32 bytes a row. kEights: O
// is a multiple of 8, and put(to, eight) stores eight outputs.
template <bool kEights, int kBlocks, class RowAt, class Put = PlainStore>
__device__ __forceinline__ void store_outputs(const float (&sums)[kBlocks][4], std::uint8_t* tile,
                                              Bf16* __restrict__ output, std::int64_t O,
                                              std::int64_t first_output, const RowAt& row_at,
                                              const Put& put = Put()) {
  constexpr int kRowBytes = kWarpOutputs * 2;
  const int lane = threadIdx.x % kLanes;
#pragma unroll
  for (int j = 0; j < kBlocks; ++j) {
    const unsigned to = swizzled<kRowBytes>((8 * j + lane % 8) * kRowBytes + lane / 8 % 2 * 16);
    store_matrices_transposed(shared_address(tile + to), bf16x2_rn(sums[j][0], sums[j][1]),
                              bf16x2_rn(sums[j][2], sums[j][3]));
  }
  __syncwarp();
#pragma unroll 1  // unrolled, it has paths for counts that there are not
  for (int piece = lane; piece < 16 * kBlocks; piece += kLanes) {
    const std::int64_t row = row_at(piece / 2);
    const std::int64_t o = first_output + piece % 2 * 8;
    if (row < 0 || o >= O) continue;
    const auto eight = reinterpret_cast<const uint4*>(tile + swizzled<kRowBytes>(piece * 16));
    Bf16* const to = output + row * O + o;
    if (kEights || O % 8 == 0) {
      put(reinterpret_cast<uint4*>(to), *eight);
    } else {
      const auto values = reinterpret_cast<const Bf16*>(eight);
      for (int n = 0; n < 8 && o + n < O; ++n) to[n] = values[n];
    }
  }
}

}  // namespace moe4::device
