// The exact product of two values over the extended reals (LIN-5).
#pragma once

#include "reference/formats/exact_value.h"

namespace moe4 {

// Precondition: the product of the significands fits 64 bits (a code, a scale and an F64 need 4 + 1 + 53).
constexpr ExactValue product(const ExactValue& a, const ExactValue& b) {
  const bool negative = a.negative != b.negative;
  if (a.is_finite() && b.is_finite()) {
    return ExactValue::finite(negative, a.significand * b.significand, a.exponent + b.exponent);
  }
  if (a.cls == ValueClass::kNan || b.cls == ValueClass::kNan) return ExactValue::nan();
  if (a.is_zero() || b.is_zero()) return ExactValue::nan();
  return ExactValue::inf(negative);
}

}  // namespace moe4
