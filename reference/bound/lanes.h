// Eight doubles side by side, one a weight row, in the portable vectors of the compiler.
#pragma once

#include <array>
#include <cstddef>

namespace moe4 {

inline constexpr int kRowBlock = 8;
using Pair = double __attribute__((vector_size(16)));
inline constexpr std::size_t kPairs = kRowBlock / 2;
using RowPairs = std::array<Pair, kPairs>;

using PairMask = long long __attribute__((vector_size(16)));

inline Pair splat(double v) { return Pair{v, v}; }
inline Pair keep(const PairMask& mask, const Pair& v) {  // v where the mask is set, else +0
  return reinterpret_cast<Pair>(mask & reinterpret_cast<PairMask>(v));
}
inline Pair magnitude_of(const Pair& v) {
  return keep(PairMask{0x7fffffffffffffffLL, 0x7fffffffffffffffLL}, v);
}
// The largest power of two that is at most v; 0 for v = 0. Precondition: v >= 0, and normal if it is not
// zero.
inline Pair binade_of(const Pair& v) { return keep(PairMask{0x7ff0000000000000LL, 0x7ff0000000000000LL}, v); }
inline Pair larger(const Pair& a, const Pair& b) { return a > b ? a : b; }
inline Pair smaller(const Pair& a, const Pair& b) { return a < b ? a : b; }

inline double lane(const RowPairs& v, int row) { return v[static_cast<std::size_t>(row / 2)][row % 2]; }
inline void set_lane(RowPairs& v, int row, double value) {
  v[static_cast<std::size_t>(row / 2)][row % 2] = value;
}

}  // namespace moe4
