#include "tests/support/slow_model/float_format.h"

namespace slow_model {

std::uint64_t FloatFormat::infinity() const {
  return ((std::uint64_t{1} << exponent_bits) - 1) << mantissa_bits;
}

std::uint64_t FloatFormat::canonical_nan() const {
  return infinity() | (std::uint64_t{1} << (mantissa_bits - 1));
}

std::uint64_t FloatFormat::one() const { return static_cast<std::uint64_t>(bias()) << mantissa_bits; }

bool is_nan(const FloatFormat& format, std::uint64_t bits) {
  return (bits & ~format.sign_bit()) > format.infinity();
}

bool is_infinite(const FloatFormat& format, std::uint64_t bits) {
  return (bits & ~format.sign_bit()) == format.infinity();
}

bool is_zero(const FloatFormat& format, std::uint64_t bits) { return (bits & ~format.sign_bit()) == 0; }

Dyadic grid_point(const FloatFormat& format, std::uint64_t n) {
  const long field = static_cast<long>(n >> format.mantissa_bits);
  const std::uint64_t mantissa = n & ((std::uint64_t{1} << format.mantissa_bits) - 1);
  if (field == 0) {
    return Dyadic::scaled(mantissa, 1 - format.bias() - format.mantissa_bits);
  }
  const std::uint64_t hidden_one = std::uint64_t{1} << format.mantissa_bits;
  return Dyadic::scaled(hidden_one + mantissa, field - format.bias() - format.mantissa_bits);
}

Extended value_of(const FloatFormat& format, std::uint64_t bits) {
  const bool negative = (bits & format.sign_bit()) != 0;
  if (is_nan(format, bits)) {
    return Extended::nan();
  }
  if (is_infinite(format, bits)) {
    return Extended::infinite(negative);
  }
  const Dyadic magnitude = grid_point(format, bits & ~format.sign_bit());
  return Extended::finite(negative ? -magnitude : magnitude);
}

Dyadic midpoint_above(const FloatFormat& format, std::uint64_t n) {
  const Dyadic half = Dyadic::scaled(1, -1);
  return (grid_point(format, n) + grid_point(format, n + 1)) * half;
}

std::uint64_t last_grid_point_not_above(const FloatFormat& format, const Dyadic& number) {
  const Dyadic magnitude = number.magnitude();
  if (magnitude >= grid_point(format, format.infinity())) {
    return format.infinity();
  }
  std::uint64_t low = 0;                   // grid_point(low) <= magnitude
  std::uint64_t high = format.infinity();  // grid_point(high) > magnitude
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (grid_point(format, middle) <= magnitude) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

std::uint64_t round_to_nearest_even(const FloatFormat& format, const Dyadic& number) {
  std::uint64_t nearest = last_grid_point_not_above(format, number);
  if (nearest < format.infinity()) {
    const auto side = number.magnitude() <=> midpoint_above(format, nearest);
    const bool odd = (nearest & 1) != 0;
    if (side > 0 || (side == 0 && odd)) {
      nearest += 1;  // may reach infinity(): the largest finite value is odd, so a tie there overflows
    }
  }
  return number.sign() < 0 ? nearest | format.sign_bit() : nearest;
}

}  // namespace slow_model
