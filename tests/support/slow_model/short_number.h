// Numbers of few bits, with the sign of zero: what the slow model calculates with where a test asks for
// millions of results. Rounding is one division with remainder, where float_format.h searches the grid;
// tests/support holds the two to the same bits.
#pragma once

#include <cstdint>

#include "tests/support/slow_model/extended.h"
#include "tests/support/slow_model/float_format.h"

namespace slow_model {

// kFinite: magnitude * 2^exponent with a sign, which zero has too.
struct ShortNumber {
  using Kind = Extended::Kind;

  Kind kind = Kind::kFinite;
  bool negative = false;
  std::uint64_t magnitude = 0;
  long exponent = 0;

  static ShortNumber integer(long n) {
    return {Kind::kFinite, n < 0, static_cast<std::uint64_t>(n < 0 ? -n : n), 0};
  }
  static ShortNumber infinite(bool negative) { return {Kind::kInfinite, negative, 0, 0}; }
  static ShortNumber nan() { return {Kind::kNan, false, 0, 0}; }

  bool is_finite() const { return kind == Kind::kFinite; }
  bool is_infinite() const { return kind == Kind::kInfinite; }
  bool is_nan() const { return kind == Kind::kNan; }
  bool is_zero() const { return is_finite() && magnitude == 0; }
};

// The number that an encoding stands for.
ShortNumber short_value_of(const FloatFormat& format, std::uint64_t bits);

// Over the extended reals (LIN-5). A zero product has the product of the signs; a sum that is zero is +0.
// Precondition: the result has at most 64 bits, counted for a sum from the lower of the two exponents.
ShortNumber operator*(const ShortNumber& a, const ShortNumber& b);
ShortNumber operator+(const ShortNumber& a, const ShortNumber& b);
ShortNumber operator-(const ShortNumber& a);

enum class Rounding {
  kNearestEven,  // FMT-7
  kNearestAway,  // as kNearestEven, but of two equally near the one of larger magnitude
  kTowardZero,   // the grid point not above the magnitude; Inf from the power of two after the largest on
};

// The encoding; NaN canonical (FMT-8).
std::uint64_t round_to(const FloatFormat& format, const ShortNumber& number,
                       Rounding rounding = Rounding::kNearestEven);

Extended extended(const ShortNumber& number);  // forgets the sign of zero

}  // namespace slow_model
