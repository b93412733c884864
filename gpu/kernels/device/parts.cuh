// How many parts of a size: unsigned, since signed division costs a correction for numbers below zero.
#pragma once

#include <cstdint>

namespace moe4::device {

// ceil(size / kPart), size >= 0; the counts of tiles of a launch that fits a grid fit 32 bits.
template <unsigned kPart>
__device__ __forceinline__ unsigned parts_of(std::int64_t size) {
  return static_cast<unsigned>((static_cast<std::uint64_t>(size) + (kPart - 1)) / kPart);
}

}  // namespace moe4::device
