// Which output a thread or a warp makes: a block makes consecutive outputs of one token, so that 32 bits hold
// all that is divided.
#pragma once

#include <cstdint>

#include "gpu/kernels/device/parts.cuh"

namespace moe4::device {

struct OutputPlace {
  std::int64_t t;
  std::int64_t o;      // may be O or more: the block's last outputs are none
  std::int64_t index;  // t·O + o
};

// Of the kOutputs outputs of a block, the one with number `n`. Launch: T·ceil(O/kOutputs) blocks.
template <unsigned kOutputs>
__device__ __forceinline__ OutputPlace output_place(std::int64_t O, unsigned n) {
  const unsigned parts = parts_of<kOutputs>(O);
  const std::int64_t t = blockIdx.x / parts;
  const std::int64_t o = std::int64_t{blockIdx.x % parts} * kOutputs + n;
  return {t, o, t * O + o};
}

}  // namespace moe4::device
