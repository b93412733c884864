#include "reference/bound/early_tokens.h"

#include <bit>

#include "reference/accumulate/exact.h"
#include "reference/arithmetic/product.h"
#include "reference/arithmetic/round.h"

namespace moe4 {
namespace {

// RNE of a·b of any two formats (up to 53 bits each).
ExactValue rounded_product(const ExactValue& a, const ExactValue& b, const FloatFormat& format) {
  if (!a.is_finite() || !b.is_finite()) return product(a, b);
  const bool negative = a.negative != b.negative;
  const Uint128 significand = Uint128{a.significand} * b.significand;
  const auto high = static_cast<std::uint64_t>(significand >> 64);
  WideMagnitude magnitude = {static_cast<std::uint64_t>(significand), a.exponent + b.exponent, false};
  if (high != 0) {
    const int left = std::countl_zero(high);
    const Uint128 top = significand << left;
    magnitude.significand = static_cast<std::uint64_t>(top >> 64);
    magnitude.exponent += 64 - left;
    magnitude.sticky = static_cast<std::uint64_t>(top) != 0;
  }
  return decode_float(format, round_to(format, negative, magnitude));
}

// ACC-4.
ExactValue flushed(const ExactValue& v) {
  const bool subnormal =
      v.is_finite() && !v.is_zero() && static_cast<int>(std::bit_width(v.significand)) + v.exponent <= -126;
  return subnormal ? ExactValue::finite(v.negative, 0, 0) : v;
}

}  // namespace

void weigh(std::span<ExactValue> row, const ExactValue& p, Dtype tokens, const Arithmetic& arithmetic) {
  const FloatFormat output = format_of(tokens);
  const bool exact = arithmetic.accumulation.kind == Accumulation::Kind::kExact;
  if (exact || tokens == Dtype::kF64) {
    for (ExactValue& x : row) x = rounded_product(p, x, output);
    return;
  }
  ExactValue used = decode_float(kF32, round_to(kF32, p));
  if (arithmetic.ftz) used = flushed(used);
  for (ExactValue& x : row) {
    ExactValue v = rounded_product(used, x, kF32);
    if (arithmetic.ftz) v = flushed(v);
    x = decode_float(output, round_to(output, v));
  }
}

}  // namespace moe4
