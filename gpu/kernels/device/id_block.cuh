// Which block of sorted_ids a place lies in.
#pragma once

#include <cstdint>

namespace moe4::device {

// floor(place / block_m). Active places are below 2^31 (RTE-7): 32-bit division will do, and a larger block_m
// makes one block.
__device__ __forceinline__ std::uint32_t id_block_of(std::int64_t place, std::int64_t block_m) {
  return static_cast<std::uint32_t>(place) /
         static_cast<std::uint32_t>(min(block_m, std::int64_t{0x7FFFFFFF}));
}

}  // namespace moe4::device
