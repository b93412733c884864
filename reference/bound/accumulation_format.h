// The arithmetic that a kernel adds in, as the proved bounds see it (BND-1, BND-8).
#pragma once

#include "reference/profile/arithmetic.h"
#include "reference/tensor.h"

namespace moe4 {

// |RN(z) - z| <= unit * |z| + underflow for every sum, product or fused multiply-add that does not overflow.
struct AccumulationFormat {
  double unit;            // u
  double underflow;       // alpha
  double largest;         // the largest finite number
  int precision;          // bits of a significand
  int lowest;             // numbers that are multiples of 2^lowest, and not too long, are representable
  bool products_inexact;  // the product of a weight and a token may need more than `precision` bits
  bool ftz;
  bool scales_sums;  // accumulator_scale: a scale multiplies the sum of a run (ACC-16)
};

AccumulationFormat accumulation_format(Dtype tokens, const Arithmetic& arithmetic);

// BND-14: a computed sum of at most `operations` roundings, all terms >= 0, made an upper bound of the exact
// one.
inline double round_up(double computed, double operations) {
  return computed * (1.0 + (operations + 8.0) * 0x1p-52);
}

}  // namespace moe4
