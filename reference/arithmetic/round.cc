#include "reference/arithmetic/round.h"

#include <algorithm>
#include <bit>

namespace moe4 {
namespace {

// significand / 2^drop to nearest even, drop >= 1; sticky says that a fraction lies below the significand.
std::uint64_t shift_right_to_nearest_even(std::uint64_t significand, int drop, bool sticky) {
  if (drop > 64) return 0;  // less than one half
  const std::uint64_t half = std::uint64_t{1} << (drop - 1);
  const std::uint64_t rest = drop == 64 ? significand : significand & (2 * half - 1);
  const std::uint64_t kept = drop == 64 ? 0 : significand >> drop;
  const bool above_half = rest > half || (rest == half && sticky);
  const bool tie = rest == half && !sticky;
  return kept + (above_half || (tie && kept % 2 == 1) ? 1 : 0);
}

}  // namespace

std::uint64_t round_to(const FloatFormat& format, bool negative, const WideMagnitude& magnitude) {
  const std::uint64_t sign = negative ? format.sign_bit() : 0;
  if (magnitude.significand == 0) return sign;

  const int left = std::countl_zero(magnitude.significand);
  const std::uint64_t significand = magnitude.significand << left;
  const int exponent = magnitude.exponent - left;
  const int leading = exponent + 63;
  if (leading > format.bias()) return sign | format.infinity();

  // The grid at this magnitude: one ulp, but never finer than the subnormal grid. A 64-bit significand is
  // longer than any mantissa, so at least 11 bits are dropped.
  const int quantum = std::max(leading - format.mantissa_bits, format.lsb_exponent());
  const std::uint64_t kept = shift_right_to_nearest_even(significand, quantum - exponent, magnitude.sticky);

  // The hidden bit of kept adds 1 to the exponent field; a carry out of the mantissa moves to the next
  // binade, and out of the last binade to infinity.
  const auto field = static_cast<std::uint64_t>(quantum - format.lsb_exponent());
  return sign | ((field << format.mantissa_bits) + kept);
}

std::uint64_t round_to(const FloatFormat& format, const ExactValue& value) {
  if (value.cls == ValueClass::kNan) return format.canonical_nan();
  if (value.cls == ValueClass::kInf) return (value.negative ? format.sign_bit() : 0) | format.infinity();
  return round_to(format, value.negative, {value.significand, value.exponent, false});
}

}  // namespace moe4
