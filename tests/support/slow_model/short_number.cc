#include "tests/support/slow_model/short_number.h"

#include <algorithm>
#include <bit>

namespace slow_model {

ShortNumber short_value_of(const FloatFormat& format, std::uint64_t bits) {
  const bool negative = (bits & format.sign_bit()) != 0;
  if (is_nan(format, bits)) {
    return ShortNumber::nan();
  }
  if (is_infinite(format, bits)) {
    return ShortNumber::infinite(negative);
  }
  const std::uint64_t hidden_one = std::uint64_t{1} << format.mantissa_bits;
  const std::uint64_t mantissa = bits % hidden_one;
  const long field = static_cast<long>(bits % format.sign_bit() / hidden_one);
  const long last_place = std::max(field, 1L) - format.bias() - format.mantissa_bits;
  return {ShortNumber::Kind::kFinite, negative, field == 0 ? mantissa : hidden_one + mantissa, last_place};
}

ShortNumber operator*(const ShortNumber& a, const ShortNumber& b) {
  const bool negative = a.negative != b.negative;
  if (a.is_nan() || b.is_nan()) {
    return ShortNumber::nan();
  }
  if (a.is_infinite() || b.is_infinite()) {
    return a.is_zero() || b.is_zero() ? ShortNumber::nan() : ShortNumber::infinite(negative);
  }
  return {ShortNumber::Kind::kFinite, negative, a.magnitude * b.magnitude, a.exponent + b.exponent};
}

ShortNumber operator-(const ShortNumber& a) {
  ShortNumber result = a;
  result.negative = !a.negative;
  return result;
}

ShortNumber operator+(const ShortNumber& a, const ShortNumber& b) {
  if (a.is_nan() || b.is_nan()) {
    return ShortNumber::nan();
  }
  if (a.is_infinite() && b.is_infinite()) {
    return a.negative == b.negative ? a : ShortNumber::nan();
  }
  if (a.is_infinite() || b.is_infinite()) {
    return a.is_infinite() ? a : b;
  }
  if (a.is_zero() || b.is_zero()) {
    const ShortNumber& sum = a.is_zero() ? b : a;
    return sum.is_zero() ? ShortNumber() : sum;
  }
  const long exponent = std::min(a.exponent, b.exponent);
  const std::uint64_t left = a.magnitude << (a.exponent - exponent);
  const std::uint64_t right = b.magnitude << (b.exponent - exponent);
  if (a.negative == b.negative) {
    return {ShortNumber::Kind::kFinite, a.negative, left + right, exponent};
  }
  if (left == right) {
    return {};
  }
  const bool left_is_larger = left > right;
  return {ShortNumber::Kind::kFinite, left_is_larger ? a.negative : b.negative,
          left_is_larger ? left - right : right - left, exponent};
}

std::uint64_t round_to(const FloatFormat& format, const ShortNumber& number, Rounding rounding) {
  const std::uint64_t sign = number.negative ? format.sign_bit() : 0;
  if (number.is_nan()) {
    return format.canonical_nan();
  }
  if (number.is_infinite()) {
    return sign | format.infinity();
  }
  if (number.is_zero()) {
    return sign;
  }
  // The grid at the number: multiples of 2^step.
  const long smallest_step = 1 - format.bias() - format.mantissa_bits;
  const long highest_bit = number.exponent + std::bit_width(number.magnitude) - 1;
  const long step = std::max(highest_bit - format.mantissa_bits, smallest_step);
  const long dropped = step - number.exponent;  // places below the grid
  std::uint64_t multiple = 0;
  if (dropped <= 0) {
    multiple = number.magnitude << -dropped;
  } else if (dropped <= 63) {
    multiple = number.magnitude >> dropped;
    const std::uint64_t rest = number.magnitude & ((std::uint64_t{1} << dropped) - 1);
    const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
    const bool even_tie_stays = rounding == Rounding::kNearestEven && multiple % 2 == 0;
    if (rounding != Rounding::kTowardZero && (rest > half || (rest == half && !even_tie_stays))) {
      multiple += 1;
    }
  } else if (dropped == 64) {  // multiple is zero, which is even; half a step is 2^63
    const std::uint64_t half = std::uint64_t{1} << 63;
    const bool up =
        number.magnitude > half || (number.magnitude == half && rounding == Rounding::kNearestAway);
    multiple = up && rounding != Rounding::kTowardZero ? 1 : 0;
  }
  // Encodings count grid points: each binade above the smallest step adds as many as its hidden one is worth.
  const std::uint64_t binades = static_cast<std::uint64_t>(step - smallest_step);
  if (binades > std::uint64_t{1} << format.exponent_bits) {
    return sign | format.infinity();
  }
  const std::uint64_t encoding = (binades << format.mantissa_bits) + multiple;
  return sign | std::min(encoding, format.infinity());
}

Extended extended(const ShortNumber& number) {
  if (number.is_nan()) {
    return Extended::nan();
  }
  if (number.is_infinite()) {
    return Extended::infinite(number.negative);
  }
  const Dyadic magnitude = Dyadic::scaled(number.magnitude, number.exponent);
  return Extended::finite(number.negative ? -magnitude : magnitude);
}

}  // namespace slow_model
