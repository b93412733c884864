// Finite exact values as doubles.
#pragma once

#include <cmath>

#include "reference/formats/exact_value.h"

namespace moe4 {

// Exact for every token, mixture weight, shared output and weight: at most 53 bits within binary64's range.
// Precondition: value.is_finite().
inline double to_double(const ExactValue& value) {
  const double magnitude = std::ldexp(static_cast<double>(value.significand), value.exponent);
  return value.negative ? -magnitude : magnitude;
}

}  // namespace moe4
