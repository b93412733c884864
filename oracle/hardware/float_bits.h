// The layout of a floating-point encoding, for data that is made bit by bit.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace moe4::oracle {

struct FloatBits {
  int exponent_bits = 8, mantissa_bits = 23;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  std::uint64_t exponent_mask() const { return (std::uint64_t{1} << exponent_bits) - 1; }
  std::uint64_t mantissa_mask() const { return (std::uint64_t{1} << mantissa_bits) - 1; }
  std::uint64_t sign() const { return std::uint64_t{1} << (exponent_bits + mantissa_bits); }
  std::uint64_t inf() const { return exponent_mask() << mantissa_bits; }

  // A field outside of 0 … the mask is taken to the nearer end.
  std::uint64_t number(bool negative, std::int64_t exponent_field, std::uint64_t mantissa) const {
    const auto last = static_cast<std::int64_t>(exponent_mask());
    const std::int64_t field = exponent_field < 0 ? 0 : exponent_field > last ? last : exponent_field;
    return (negative ? sign() : 0) | (static_cast<std::uint64_t>(field) << mantissa_bits) |
           (mantissa & mantissa_mask());
  }
  // ±2^exponent, subnormal where that is needed; 0 below the smallest.
  std::uint64_t power(bool negative, int exponent) const {
    if (exponent >= 1 - bias()) return number(negative, exponent + bias(), 0);
    const int shift = exponent - (1 - bias()) + mantissa_bits;
    return number(negative, 0, shift >= 0 ? std::uint64_t{1} << shift : 0);
  }
  bool is_nan(std::uint64_t bits) const { return (bits & (sign() - 1)) > inf(); }
};

inline FloatBits float_bits(std::string_view type) {
  if (type.starts_with("bf16")) return {8, 7};
  if (type.starts_with("f16")) return {5, 10};
  return type == "f64" ? FloatBits{11, 52} : FloatBits{8, 23};
}

}  // namespace moe4::oracle
