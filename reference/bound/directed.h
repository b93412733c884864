// Doubles as ends of intervals: sums, products and roundings that err to a known side, or not at all.
#pragma once

#include <cmath>
#include <cstdint>

#include "reference/bound/exact_double.h"
#include "reference/formats/float_format.h"

namespace moe4 {

// What a sum computed in double lacks (TwoSum): its sign says to which side the sum was rounded.
inline double lost_by_sum(double a, double b, double sum) {
  const double b_virtual = sum - a;
  const double a_virtual = sum - b_virtual;
  const double b_lost = b - b_virtual;
  const double a_lost = a - a_virtual;
  return a_lost + b_lost;
}

inline double next_below(double v) { return std::nextafter(v, -HUGE_VAL); }
inline double next_above(double v) { return std::nextafter(v, HUGE_VAL); }

// The exact sum if it is a double, else the double next to it on that side. Precondition: no overflow.
inline double sum_down(double a, double b) {
  const double sum = a + b;
  return lost_by_sum(a, b, sum) < 0 ? next_below(sum) : sum;
}
inline double sum_up(double a, double b) {
  const double sum = a + b;
  return lost_by_sum(a, b, sum) > 0 ? next_above(sum) : sum;
}

// The same for a product. Precondition: neither the product nor its last bit leaves binary64's range.
inline double product_down(double a, double b) {
  const double product = a * b;
  return std::fma(a, b, -product) < 0 ? next_below(product) : product;
}
inline double product_up(double a, double b) {
  const double product = a * b;
  return std::fma(a, b, -product) > 0 ? next_above(product) : product;
}

// RNE of a double into a narrower format (FMT-7), as a double; infinite from the format's threshold on.
inline double round_double(const FloatFormat& format, double v) {
  if (format.width() == 64 || v == 0 || !std::isfinite(v)) return v;
  int exponent = 0;
  std::frexp(v, &exponent);
  const int lsb = exponent - 1 - format.mantissa_bits;
  const double ulp = std::ldexp(1.0, lsb < format.lsb_exponent() ? format.lsb_exponent() : lsb);
  const double shift = std::copysign(0x1.8p52 * ulp, v);
  const double sum = v + shift;  // rounded to a multiple of ulp, ties to even
  const double rounded = sum - shift;
  if (std::fabs(rounded) >= std::ldexp(1.0, format.bias() + 1)) return std::copysign(HUGE_VAL, v);
  return rounded == 0 ? std::copysign(0.0, v) : rounded;
}

// The encoding of RNE(v).
std::uint64_t encode_double(const FloatFormat& format, double v);

}  // namespace moe4
