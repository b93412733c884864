// What an encoding denotes: a real number, an infinity or NaN. Bits and values never share a type:
// formats/*.h turn
// ...Bits into an ExactValue, arithmetic/round.h turns an exact number into bits.
#pragma once

#include <cstdint>

namespace moe4 {

enum class ValueClass : std::uint8_t { kFinite, kInf, kNan };

// kFinite: (-1)^negative * significand * 2^exponent, not normalised; significand 0 is a zero of that sign.
// kInf: an infinity of that sign. kNan: sign, exponent and significand mean nothing.
struct ExactValue {
  ValueClass cls = ValueClass::kFinite;
  bool negative = false;
  std::int32_t exponent = 0;
  std::uint64_t significand = 0;

  constexpr bool is_finite() const { return cls == ValueClass::kFinite; }
  constexpr bool is_zero() const { return is_finite() && significand == 0; }

  static constexpr ExactValue finite(bool negative, std::uint64_t significand, std::int32_t exponent) {
    return {ValueClass::kFinite, negative, exponent, significand};
  }
  static constexpr ExactValue inf(bool negative) { return {ValueClass::kInf, negative, 0, 0}; }
  static constexpr ExactValue nan() { return {ValueClass::kNan, false, 0, 0}; }
};

}  // namespace moe4
