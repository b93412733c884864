// The two weight formats as operand A of wgmma: the codes of one group, 32 columns, of the 16 outputs of a
// warp, and their scales become the registers of two steps of 16 columns (wgmma.cuh says which is which).
//
// Codes lie in shared memory in rows of kLine bytes, two columns a byte, swizzled with the span of a row; the
// scales of a group lie one after another by output.
#pragma once

#include <cstdint>

#include "gpu/kernels/device/int4_decode.cuh"
#include "gpu/kernels/device/pair_weights.cuh"
#include "gpu/kernels/device/ptx.cuh"
#include "gpu/kernels/device/tensor_copy.cuh"
#include "gpu/kernels/device/warp.cuh"

namespace moe4::device {

struct WeightFragment {
  std::uint32_t step[2][4];
};

// The layouts `grouped_contiguous` and `grouped_masked`: one word, as ldmatrix hands it out, holds the eight
// codes that a lane needs for a step; register n of the step is its nibbles n and n+4.
struct Int4Grouped {
  using Scale = std::uint16_t;  // BF16, [E,G,O]: TMA brings them
  using ScaleSource = const TensorMap&;
  static constexpr bool kScalesByCopy = true;
  static constexpr bool kOutputsInEights = true;  // the layout has O in multiples of 64

  template <int kLine>
  static __device__ __forceinline__ WeightFragment fragment(const std::uint8_t* codes, const Scale* scales,
                                                            int first_output, int group) {
    const int lane = threadIdx.x % kLanes;
    std::uint32_t words[2];
    load_matrices(words,
                  shared_address(codes + swizzled<kLine>((first_output + lane % 16) * kLine + 16 * group)));
    const std::uint32_t low = scales[first_output + lane / 4] * 0x00010001u;
    const std::uint32_t high = scales[first_output + lane / 4 + 8] * 0x00010001u;
    WeightFragment fragment;
#pragma unroll
    for (int s = 0; s < 2; ++s) {
#pragma unroll
      for (int n = 0; n < 4; ++n)
        fragment.step[s][n] = int4_weight_pair(words[s], n, n % 2 == 0 ? low : high);
    }
    return fragment;
  }
};

// The layout `row_major`: a group is 16 bytes in the order of the columns, so a lane needs byte lane%4 of
// each of its four words, in two rows.
struct Mxfp4Rows {
  using Scale =
      std::uint8_t;  // E8M0, [E,O,G]: rows of any length, which TMA does not take; threads bring them
  using ScaleSource = const std::uint8_t*;
  static constexpr bool kScalesByCopy = false;
  static constexpr bool kOutputsInEights = false;

  template <int kLine>
  static __device__ __forceinline__ WeightFragment fragment(const std::uint8_t* codes, const Scale* scales,
                                                            int first_output, int group) {
    const int lane = threadIdx.x % kLanes;
    WeightFragment fragment;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int output = first_output + lane / 4 + 8 * half;
      const uint4 row = *reinterpret_cast<const uint4*>(codes + swizzled<kLine>(output * kLine + 16 * group));
      const std::uint32_t words[4] = {row.x, row.y, row.z, row.w};
      const std::uint32_t scale = Mxfp4Pair::prepare(scales[output]);
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        const std::uint32_t byte = words[n] >> (8 * (lane % 4)) & 0xFFu;
        fragment.step[n / 2][n % 2 * 2 + half] = Mxfp4Pair::decode(byte, scale);
      }
    }
    return fragment;
  }
};

}  // namespace moe4::device
