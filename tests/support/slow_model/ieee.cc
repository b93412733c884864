#include "tests/support/slow_model/ieee.h"

namespace slow_model {

Ieee ieee(const FloatFormat& format, std::uint64_t bits) { return ieee(short_value_of(format, bits)); }

Ieee ieee(const ShortNumber& number) { return {extended(number), number.is_zero() && number.negative}; }

Ieee operator*(const Ieee& a, const Ieee& b) {
  Ieee result{a.value * b.value, false};
  result.minus_zero = result.is_zero() && a.negative() != b.negative();
  return result;
}

Ieee operator+(const Ieee& a, const Ieee& b) {
  Ieee result{a.value + b.value, false};
  const bool both_minus = a.is_zero() && a.minus_zero && b.is_zero() && b.minus_zero;
  result.minus_zero = result.is_zero() && both_minus;
  return result;
}

std::uint64_t encoded(const FloatFormat& format, const Ieee& number) {
  ShortNumber leading;
  leading.kind = number.value.kind;
  leading.negative = number.negative();
  if (number.value.is_finite()) {
    const Dyadic::Leading bits = number.value.value.leading();
    leading.magnitude = bits.magnitude;
    leading.exponent = bits.exponent;
  }
  return round_to(format, leading);
}

Ieee rounded(const FloatFormat& format, const Ieee& number) { return ieee(format, encoded(format, number)); }

Ieee flushed(const Ieee& number) {
  if (!number.value.is_finite() || number.is_zero()) {
    return number;
  }
  const bool small = number.value.value.magnitude() < Dyadic::scaled(1, -126);
  return small ? Ieee{Extended(), number.negative()} : number;
}

}  // namespace slow_model
