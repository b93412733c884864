#include "reference/fast/round_interval.h"

#include <bit>
#include <cmath>
#include <limits>

#include "reference/arithmetic/round.h"

namespace moe4::fast {
namespace {

// high + low with |low| <= ulp(high)/2, cut to 53 bits with the last one set if anything was cut: rounds like
// the whole number in any format of at most 51 bits.
double to_odd(double high, double low) {
  if (low == 0) return high;
  auto bits = std::bit_cast<std::uint64_t>(high);
  const bool away = (low > 0) == (high > 0);
  if (!away) --bits;
  return std::bit_cast<double>(bits | 1);
}

std::uint64_t round_sum(Dtype dtype, double a, double b) {
  double high = 0;
  double low = 0;
  two_sum(a, b, high, low);
  if (high == 0) return 0;
  return round_double(dtype, dtype == Dtype::kF64 ? high : to_odd(high, low));
}

}  // namespace

double to_double(const ExactValue& value) {
  if (value.cls == ValueClass::kNan) return std::numeric_limits<double>::quiet_NaN();
  const double sign = value.negative ? -1.0 : 1.0;
  if (value.cls == ValueClass::kInf) return sign * std::numeric_limits<double>::infinity();
  return std::ldexp(sign * static_cast<double>(value.significand), value.exponent);
}

std::uint64_t round_double(Dtype dtype, double value) {
  return round_to(format_of(dtype), decode(F64Bits{std::bit_cast<std::uint64_t>(value)}));
}

std::uint16_t round_to_bf16(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t magnitude = bits & 0x7FFFFFFFFFFFFFFF;
  constexpr std::uint64_t kSmallestNormal = 0x3810000000000000;  // 2^-126
  constexpr std::uint64_t kAbove = 0x47F0000000000000;           // 2^128
  if (magnitude < kSmallestNormal || magnitude >= kAbove) {
    if (magnitude == 0) return 0;
    return static_cast<std::uint16_t>(round_double(Dtype::kBF16, value));
  }
  // The fields of BF16 are the upper ones of F64 but for the bias; a carry out of the last binade is Inf.
  constexpr int kDropped = 52 - 7;
  const std::uint64_t odd = (magnitude >> kDropped) & 1;
  const std::uint64_t rounded = (magnitude + odd + ((std::uint64_t{1} << (kDropped - 1)) - 1)) >> kDropped;
  const std::uint64_t biased = rounded - (std::uint64_t{1023 - 127} << 7);
  return static_cast<std::uint16_t>((bits >> 63 << 15) | biased);
}

std::optional<std::uint64_t> round_interval(Dtype dtype, const Approximation& value) {
  double high = 0;
  double low = 0;
  two_sum(value.high, value.low, high, low);
  if (value.error == 0) return round_sum(dtype, high, low);
  // The ends, widened by what the additions below can lose.
  const double reach = value.error * (1 + 0x1p-20) + std::fabs(low) * 0x1p-50;
  const std::uint64_t lower = round_sum(dtype, high, low - reach);
  if (lower != round_sum(dtype, high, low + reach)) return std::nullopt;
  return lower;
}

}  // namespace moe4::fast
