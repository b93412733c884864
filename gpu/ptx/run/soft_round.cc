#include "gpu/ptx/run/soft_round.h"

#include <bit>

namespace moe4::ptx {
namespace {

// significand >> shift, rounded. shift may be anything from 0 up.
std::uint64_t shift_right(std::uint64_t significand, int shift, bool negative, Rounding rounding) {
  if (shift <= 0) return significand << -shift;
  std::uint64_t kept = shift > 63 ? 0 : significand >> shift;
  const std::uint64_t half = shift > 64 ? 0 : std::uint64_t{1} << (shift - 1);
  const std::uint64_t rest = shift > 63 ? significand : significand & ((std::uint64_t{1} << shift) - 1);
  if (rest == 0) return kept;
  bool up = false;
  switch (rounding) {
    case Rounding::kZero:
      break;
    case Rounding::kDown:
      up = negative;
      break;
    case Rounding::kUp:
      up = !negative;
      break;
    case Rounding::kNearestAway:
      up = half != 0 && rest >= half;
      break;
    case Rounding::kNone:
    case Rounding::kNearest:
      up = half != 0 && (rest > half || (rest == half && (kept & 1)));
      break;
  }
  return kept + (up ? 1 : 0);
}

}  // namespace

Exact exact_from_bits(std::uint64_t bits, FloatFormat format) {
  Exact value;
  const int width = 1 + format.exponent_bits + format.mantissa_bits;
  value.negative = (bits >> (width - 1)) & 1;
  const std::uint64_t mantissa = bits & ((std::uint64_t{1} << format.mantissa_bits) - 1);
  const int all_ones = (1 << format.exponent_bits) - 1;
  const int exponent = static_cast<int>(bits >> format.mantissa_bits) & all_ones;
  if (exponent == all_ones) {
    value.kind = mantissa == 0 ? Exact::Kind::kInfinite : Exact::Kind::kNan;
    return value;
  }
  if (exponent == 0 && mantissa == 0) return value;
  value.kind = Exact::Kind::kFinite;
  value.significand = exponent == 0 ? mantissa : mantissa | (std::uint64_t{1} << format.mantissa_bits);
  value.exponent = (exponent == 0 ? 1 : exponent) - format.bias() - format.mantissa_bits;
  return value;
}

Exact exact_from_integer(std::uint64_t magnitude, bool negative) {
  Exact value;
  if (magnitude == 0) return value;
  value.kind = Exact::Kind::kFinite;
  value.negative = negative;
  value.significand = magnitude;
  return value;
}

std::uint64_t round_to(const Exact& value, FloatFormat format, Rounding rounding) {
  const int m = format.mantissa_bits;
  const std::uint64_t infinity = static_cast<std::uint64_t>((1 << format.exponent_bits) - 1) << m;
  const std::uint64_t sign = std::uint64_t{value.negative} << (format.exponent_bits + m);
  switch (value.kind) {
    case Exact::Kind::kZero:
      return sign;
    case Exact::Kind::kInfinite:
      return sign | infinity;
    case Exact::Kind::kNan:
      // f64: the quiet bit alone; the shorter formats: all ones.
      return m == 52 ? infinity | (std::uint64_t{1} << (m - 1)) : infinity | ((std::uint64_t{1} << m) - 1);
    case Exact::Kind::kFinite:
      break;
  }
  const int top = value.exponent + 63 - std::countl_zero(value.significand);  // exponent of the leading bit
  const int least = 1 - format.bias();                                        // of the smallest normal number
  const int last = (top > least ? top : least) - m;                           // exponent of the last kept bit
  const std::uint64_t kept = shift_right(value.significand, last - value.exponent, value.negative, rounding);
  // A carry into the next binade, or from subnormal to normal, comes out right by adding up the fields.
  const std::uint64_t biased = top > least ? static_cast<std::uint64_t>(top + format.bias()) - 1 : 0;
  std::uint64_t magnitude = (biased << m) + kept;
  if (magnitude >= infinity) {
    const bool to_infinity =
        rounding == Rounding::kNearest || rounding == Rounding::kNone || rounding == Rounding::kNearestAway ||
        (rounding == Rounding::kUp && !value.negative) || (rounding == Rounding::kDown && value.negative);
    magnitude = to_infinity ? infinity : infinity - 1;
  }
  return sign | magnitude;
}

__int128 round_to_integer(const Exact& value, Rounding rounding) {
  if (value.kind != Exact::Kind::kFinite) return 0;
  __int128 magnitude = 0;
  if (value.exponent >= 0) {
    // Anything above 2^66 is out of every range.
    magnitude = value.exponent > 3 + std::countl_zero(value.significand)
                    ? __int128{1} << 70
                    : static_cast<__int128>(value.significand) << value.exponent;
  } else {
    magnitude = shift_right(value.significand, -value.exponent, value.negative, rounding);
  }
  return value.negative ? -magnitude : magnitude;
}

}  // namespace moe4::ptx
