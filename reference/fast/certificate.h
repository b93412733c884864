// Why the fast path returns the norm's bits: what is proved about a floating-point sum before it is used.
//
// Let S = Σ w·x over one row, w and x finite, |w| < 2^131, x a BF16, F16 or F32. The products have at most 8
// + 24 significant bits and exponents from 2^-282 to 2^259, so each is exact in FP64, and no sum of them
// overflows or is subnormal. Let 2^lsb be a power of two of which every product is a multiple, and A >=
// Σ|w·x|.
//
// Certificate. If A <= 2^(lsb + 53), S is exact: whatever the order, each partial sum is a multiple of 2^lsb
// and at most A in magnitude, so it has at most 53 significant bits, and no addition rounds. With 24 in place
// of 53 the same holds in FP32, if 2^lsb is no less than the smallest FP32 subnormal, A less than the largest
// FP32, and the operands FP32 numbers. Group sums in 32-bit integers (digit_panel.h) are exact by their
// ranges, and each is a multiple of 2^lsb too; tokens are cut toward zero, so the magnitudes of all terms
// still add up to A at most.
//
// Rounding test. Else |S' - S| <= γ·A for the computed S', where no product passes through more than n
// additions and γ = n·u / (1 - n·u), u = 2^-53. If both ends of that interval have the same encoding in the
// output dtype, it is the encoding of S, since rounding is monotonic. It never holds at a tie.
//
// Exact accumulator. Else the norm's own code computes the output again.
//
// Non-finite. NaN or Inf in w or x gives a non-finite product; since the finite ones cannot overflow, S' is
// NaN, +Inf or -Inf exactly if LIN-5 says so, in any order.
//
// All this is true of IEEE 754 arithmetic to nearest even with subnormals; where a thread's float unit is set
// to something else (canary.h), its outputs go to the exact accumulator, which has integers only.
#pragma once

#include <cmath>
#include <cstdint>

#include "reference/fast/loops/kernels.h"

namespace moe4::fast {

// The conditions as numbers, a template parameter so that a test can plant a wrong one.
struct ProvenLimits {
  static constexpr int kBitsF64 = 53;
  static constexpr int kBitsF32 = 24;
  static constexpr double kUnitRoundoff = 0x1p-53;
};

// Widths above this are left to the exact accumulator: n·u < 2^-32 below.
inline constexpr std::int64_t kMaxTerms = std::int64_t{1} << 20;

// An upper bound of a sum of at most kMaxTerms non-negative terms that was computed in FP64.
inline double upper(double sum) { return sum * (1 + 0x1p-29); }

// Precondition: bound.sum_abs is an upper bound of the true sum (upper()).
template <class Limits>
bool exact_in_f64(const RowBound& bound) {
  return bound.sum_abs <= std::ldexp(1.0, bound.lsb < kNoBits / 2 ? bound.lsb + Limits::kBitsF64 : 1000);
}

template <class Limits>
bool exact_in_f32(const RowBound& bound) {
  if (bound.max_abs >= 0x1p127 || bound.sum_abs >= 0x1p127) return false;
  if (bound.lsb >= kNoBits / 2) return true;
  return bound.lsb >= -149 && bound.sum_abs <= std::ldexp(1.0, bound.lsb + Limits::kBitsF32);
}

// γ·A, rounded up. Precondition: 1 <= chain <= kMaxTerms.
template <class Limits>
double error_bound(std::int64_t chain, double sum_abs) {
  return static_cast<double>(chain) * Limits::kUnitRoundoff * (1 + 0x1p-20) * sum_abs;
}

}  // namespace moe4::fast
