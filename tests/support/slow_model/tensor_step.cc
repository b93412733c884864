#include "tests/support/slow_model/tensor_step.h"

#include <algorithm>

namespace slow_model {
namespace {

// ACC-14.
const Generation kGenerations[] = {
    {"volta", 4, 23, -131, false}, {"turing", 8, 24, -132, false}, {"ampere", 8, 24, -132, true},
    {"ada", 8, 24, -132, true},    {"hopper", 16, 25, -133, true}, {"blackwell", 16, 25, -133, true},
};

std::uint64_t magnitude_bits(const FloatFormat& format, std::uint64_t bits) {
  return bits % format.sign_bit();
}
bool is_negative(const FloatFormat& format, std::uint64_t bits) { return bits >= format.sign_bit(); }

}  // namespace

std::span<const Generation> generations() { return kGenerations; }

int TensorStep::products(const Generation& generation) const { return generation.products; }

int TensorStep::fraction_bits(const Generation& generation) const { return generation.fraction_bits; }

// ACC-9.
long TensorStep::exponent_of(const FloatFormat& format, std::uint64_t bits) const {
  const long field = static_cast<long>(magnitude_bits(format, bits) >> format.mantissa_bits);
  return std::max(field, 1L) - format.bias();
}

TensorStep::Term TensorStep::product(const Generation& generation, const FloatFormat& format, std::uint64_t a,
                                     std::uint64_t b) const {
  const ShortNumber exact = short_value_of(format, a) * short_value_of(format, b);
  const long exponent = exponent_of(format, a) + exponent_of(format, b);
  return {exact.negative, exact.magnitude, exact.exponent,
          exact.is_zero() ? generation.zero_exponent : exponent};  // ACC-10
}

TensorStep::Term TensorStep::addend(const Generation& generation, std::uint32_t c) const {
  const ShortNumber exact = short_value_of(kF32, c);
  return {exact.negative, exact.magnitude, exact.exponent,
          exact.is_zero() ? generation.zero_exponent : exponent_of(kF32, c)};
}

long TensorStep::largest_exponent(std::span<const Term> products, const Term& c) const {
  long largest = c.counts_with;
  for (const Term& term : products) largest = std::max(largest, term.counts_with);
  return largest;
}

std::int64_t TensorStep::cut(const Term& term, long grid) const {
  const long dropped = grid - term.last_place;
  std::uint64_t units = 0;
  if (dropped <= 0) {
    units = term.magnitude << -dropped;
  } else if (dropped < 64) {
    units = term.magnitude >> dropped;
  }
  return term.negative ? -static_cast<std::int64_t>(units) : static_cast<std::int64_t>(units);
}

// ACC-12: rounding toward zero gives Inf from 2^128 on (short_number.h).
std::uint32_t TensorStep::result(std::int64_t sum, long grid) const {
  const ShortNumber exact{ShortNumber::Kind::kFinite, sum < 0,
                          static_cast<std::uint64_t>(sum < 0 ? -sum : sum), grid};
  return static_cast<std::uint32_t>(round_to(kF32, exact, Rounding::kTowardZero));
}

std::uint32_t TensorStep::nan() const { return 0x7FFFFFFF; }

std::uint32_t TensorStep::step(const Generation& generation, const FloatFormat& format,
                               std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                               std::uint32_t c) const {
  // ACC-8.
  bool plus_infinity = is_infinite(kF32, c) && !is_negative(kF32, c);
  bool minus_infinity = is_infinite(kF32, c) && is_negative(kF32, c);
  bool not_a_number = is_nan(kF32, c);
  for (std::size_t k = 0; k < a.size(); ++k) {
    const ShortNumber exact = short_value_of(format, a[k]) * short_value_of(format, b[k]);
    not_a_number = not_a_number || exact.is_nan();
    plus_infinity = plus_infinity || (exact.is_infinite() && !exact.negative);
    minus_infinity = minus_infinity || (exact.is_infinite() && exact.negative);
  }
  if (not_a_number || (plus_infinity && minus_infinity)) return nan();
  if (plus_infinity || minus_infinity) return minus_infinity ? 0xFF800000 : 0x7F800000;

  std::vector<Term> terms;
  for (std::size_t k = 0; k < a.size(); ++k) terms.push_back(product(generation, format, a[k], b[k]));
  const Term last = addend(generation, c);
  const long grid = largest_exponent(terms, last) - fraction_bits(generation);  // ACC-11
  std::int64_t sum = cut(last, grid);
  for (const Term& term : terms) sum += cut(term, grid);
  return result(sum, grid);
}

std::uint32_t TensorStep::chain(const Generation& generation, const FloatFormat& format,
                                std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) const {
  std::uint32_t c = 0;
  const std::size_t length = static_cast<std::size_t>(products(generation));
  for (std::size_t first = 0; first < a.size(); first += length) {
    std::vector<std::uint64_t> left(length, 0);
    std::vector<std::uint64_t> right(length, 0);
    for (std::size_t k = 0; k < length && first + k < a.size(); ++k) {
      left[k] = a[first + k];
      right[k] = b[first + k];
    }
    c = step(generation, format, left, right, c);
  }
  return c;
}

}  // namespace slow_model
