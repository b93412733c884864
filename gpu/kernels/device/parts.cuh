// A size in parts: unsigned, since signed division costs a correction for numbers below zero.
#pragma once

#include <cstdint>

namespace moe4::device {

// ceil(size / kPart), size >= 0; the counts of tiles of a launch that fits a grid fit 32 bits.
template <unsigned kPart>
__device__ __forceinline__ unsigned parts_of(std::int64_t size) {
  return static_cast<unsigned>((static_cast<std::uint64_t>(size) + (kPart - 1)) / kPart);
}

// floor(size / kPart), size >= 0.
template <unsigned kPart>
__device__ __forceinline__ std::int64_t whole_parts_of(std::int64_t size) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(size) / kPart);
}

}  // namespace moe4::device
