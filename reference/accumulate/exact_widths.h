// How wide the accumulators of the expert linear must be: derived here, for every legal input of both weight
// formats at once.
#pragma once

#include <algorithm>

#include "reference/accumulate/exact_sum.h"
#include "reference/formats/float_format.h"

namespace moe4 {

// Every value is a multiple of 2^lsb and less than 2^top in magnitude.
struct ExponentRange {
  int lsb;
  int top;
};

constexpr ExponentRange range_of(const FloatFormat& format) {
  return {format.lsb_exponent(), format.bias() + 1};
}
constexpr ExponentRange product(ExponentRange a, ExponentRange b) { return {a.lsb + b.lsb, a.top + b.top}; }
constexpr ExponentRange sum_of_two(ExponentRange a, ExponentRange b) {
  return {std::min(a.lsb, b.lsb), std::max(a.top, b.top) + 1};
}
constexpr ExponentRange sum_of(ExponentRange term, int log2_terms) {
  return {term.lsb, term.top + log2_terms};
}
// One more for the sign.
constexpr int twos_complement_bits(ExponentRange range) { return range.top - range.lsb + 1; }

// MXFP4: from 0.5 * 2^-127 to 6 * 2^128, the largest under scale_nan=formula (FMT-5, COR-1). INT4: multiples
// of the smallest BF16 subnormal, 2^-133; unrounded (INT-9: exactw) up to 8 * 2^128.
inline constexpr ExponentRange kWeightRange = {-133, 131};
// I * K <= 2^62 (VAL-6).
inline constexpr int kLog2Products = 62;

// Σ_i W·x: F64 tokens are the widest and the finest, and hold all other dtypes.
inline constexpr ExponentRange kDotRange = sum_of(product(kWeightRange, range_of(kF64)), kLog2Products);
inline constexpr int kDotLimbs = 38;
static_assert(kDotRange.lsb == -1207 && twos_complement_bits(kDotRange) <= 64 * kDotLimbs);

// s + Σ_j p·Σ_i W·x with F64 everywhere. kLog2Products counts i and j together.
inline constexpr ExponentRange kOutputRange = sum_of_two(product(kDotRange, range_of(kF64)), range_of(kF64));
inline constexpr int kOutputLimbs = 72;
static_assert(kOutputRange.lsb == -2281 && twos_complement_bits(kOutputRange) <= 64 * kOutputLimbs);

using DotSum = ExactSum<kDotLimbs, kDotRange.lsb>;
using OutputSum = ExactSum<kOutputLimbs, kOutputRange.lsb>;

}  // namespace moe4
