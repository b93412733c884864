// Operands and results of IEEE 754 operations: the extended reals with a signed zero. An operation is exact;
// rounding is a step of its own.
#pragma once

#include "tests/support/slow_model/float_format.h"
#include "tests/support/slow_model/short_number.h"

namespace slow_model {

struct Ieee {
  Extended value;
  bool minus_zero = false;  // only if value is zero

  bool is_nan() const { return value.is_nan(); }
  bool is_zero() const { return value.is_finite() && value.value.is_zero(); }
  bool negative() const { return is_zero() ? minus_zero : value.sign() < 0; }
};

Ieee ieee(const FloatFormat& format, std::uint64_t bits);
Ieee ieee(const ShortNumber& number);

// A zero product has the product of the signs; a zero sum is +0 unless both addends are -0.
Ieee operator*(const Ieee& a, const Ieee& b);
Ieee operator+(const Ieee& a, const Ieee& b);

// The encoding after RNE (FMT-7); NaN canonical.
std::uint64_t encoded(const FloatFormat& format, const Ieee& number);
Ieee rounded(const FloatFormat& format, const Ieee& number);

// ACC-4: the zero of its sign below 2^-126.
Ieee flushed(const Ieee& number);

}  // namespace slow_model
