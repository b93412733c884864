// The operations of a kernel in F32 or F64, each rounded once (ACC-3 to ACC-5, PRO-1, PRO-2). F is float or
// double; the host's float unit does the work (arithmetic/canary.h).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "reference/arithmetic/round.h"
#include "reference/formats/float_format.h"
#include "reference/profile/arithmetic.h"

namespace moe4 {

template <class F>
inline constexpr FloatFormat kFormatOf = std::is_same_v<F, float> ? kF32 : kF64;

template <class F>
using BitsOf = std::conditional_t<std::is_same_v<F, float>, std::uint32_t, std::uint64_t>;

// RNE(v).
template <class F>
F nearest(const ExactValue& v) {
  return std::bit_cast<F>(static_cast<BitsOf<F>>(round_to(kFormatOf<F>, v)));
}

template <class F>
ExactValue exact_value(F v) {
  return decode_float(kFormatOf<F>, std::bit_cast<BitsOf<F>>(v));
}

// c + p rounded to odd in double: no float, and no middle between two, lies between it and the exact sum.
inline double add_to_odd(float c, double p) {
  const double wide = c;
  double sum = wide + p;
  const double p_seen = sum - wide;
  const double c_seen = sum - p_seen;
  const double c_lost = wide - c_seen;
  const double p_lost = p - p_seen;
  const double lost = c_lost + p_lost;  // exact: sum + lost is wide + p
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  if (std::isfinite(sum) && lost != 0 && bits % 2 == 0) {
    const bool away_from_zero = (lost > 0) == (sum > 0);
    sum = std::bit_cast<double>(away_from_zero ? bits + 1 : bits - 1);
  }
  return sum;
}

// RNE_f32(c + p): one rounding of the exact sum, since double has more than two bits to spare.
inline float add_once(float c, double p) { return static_cast<float>(add_to_odd(c, p)); }

template <class F>
class FloatOps {
 public:
  using Number = F;
  using Dot = F;  // a dot product over i

  explicit FloatOps(const Arithmetic& arithmetic)
      : fused_(!arithmetic.product_rounded), flushes_(arithmetic.ftz && std::is_same_v<F, float>) {}

  // A(v).
  F of(const ExactValue& v) const { return flush(nearest<F>(v)); }
  // A stored number read back: operations flush their operands, storing and reading flush nothing (PRO-1).
  F dot_of(const ExactValue& v) const { return nearest<F>(v); }
  F of_dot(F d) const { return d; }
  F zero() const { return 0; }

  F add(F a, F b) const {
    const F sum = flush(a) + flush(b);
    return flush(sum);
  }
  F product(const ExactValue& p, F d) const { return product(of(p), d); }

  // c + w·x as a chain adds it (ACC-3). w and x are exact, and so is their product in double unless F is
  // double.
  F add_product(F c, double w, double x) const {
    const double left = flush_operand(w);
    const double right = flush_operand(x);
    if (!fused_) {
      const F rounded = flush(static_cast<F>(left * right));
      return flush(c + rounded);
    }
    if constexpr (std::is_same_v<F, float>) {
      return flush(add_once(c, left * right));
    } else {
      return std::fma(left, right, c);
    }
  }
  F add_product(F r, const ExactValue& p, F d) const {
    return add_product(flush(r), static_cast<double>(of(p)), static_cast<double>(d));
  }

  // R(v): flushes nothing.
  std::uint64_t round(const FloatFormat& format, F v) const { return round_to(format, exact_value(v)); }
  std::uint64_t round_dot(const FloatFormat& format, F d) const { return round(format, d); }

 private:
  F product(F a, F b) const {
    const F rounded = flush(a) * flush(b);
    return flush(rounded);
  }
  // ACC-4.
  F flush(F v) const {
    if (!flushes_ || !(std::fabs(v) < std::numeric_limits<F>::min())) return v;
    return std::copysign(F{0}, v);
  }
  double flush_operand(double v) const {
    if (!flushes_ || !(std::fabs(v) < 0x1p-126)) return v;
    return std::copysign(0.0, v);
  }

  bool fused_;
  bool flushes_;
};

}  // namespace moe4
