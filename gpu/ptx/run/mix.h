// A bijection of 64-bit numbers that scatters them.
#pragma once

#include <cstdint>

namespace moe4::ptx {

inline std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace moe4::ptx
