// The four float dtypes (FMT-6) as numbers of bits, their values, and RNE (FMT-7).
//
// The non-negative encodings of a format, read as integers, are the non-negative values in rising
// order. So rounding is a search: find the last grid point not above the number, look at the next one,
// and decide at the midpoint.
#pragma once

#include <cstdint>

#include "tests/support/slow_model/extended.h"

namespace slow_model {

struct FloatFormat {
  const char* name;
  int exponent_bits;
  int mantissa_bits;

  int width() const { return 1 + exponent_bits + mantissa_bits; }
  long bias() const { return (1L << (exponent_bits - 1)) - 1; }
  std::uint64_t sign_bit() const { return std::uint64_t{1} << (width() - 1); }
  std::uint64_t infinity() const;       // +Inf; the encodings below it are the finite magnitudes
  std::uint64_t canonical_nan() const;  // FMT-8
  std::uint64_t one() const;

  friend bool operator==(const FloatFormat& a, const FloatFormat& b) {
    return a.exponent_bits == b.exponent_bits && a.mantissa_bits == b.mantissa_bits;
  }
};

inline constexpr FloatFormat kBf16{"BF16", 8, 7};
inline constexpr FloatFormat kF16{"F16", 5, 10};
inline constexpr FloatFormat kF32{"F32", 8, 23};
inline constexpr FloatFormat kF64{"F64", 11, 52};
inline constexpr FloatFormat kFloatFormats[] = {kBf16, kF16, kF32, kF64};

// Classes of encodings; the sign bit is ignored.
bool is_nan(const FloatFormat& format, std::uint64_t bits);
bool is_infinite(const FloatFormat& format, std::uint64_t bits);
bool is_zero(const FloatFormat& format, std::uint64_t bits);

// The number that an encoding stands for.
Extended value_of(const FloatFormat& format, std::uint64_t bits);

// Grid point n >= 0 of a format whose exponent range is unbounded above: the value of encoding n up to
// the largest finite one; n = infinity() is the power of two that follows.
Dyadic grid_point(const FloatFormat& format, std::uint64_t n);

// Half way between grid points n and n+1, for n < infinity().
Dyadic midpoint_above(const FloatFormat& format, std::uint64_t n);

// The last grid point not above |number|; infinity() for all that is at or beyond grid_point(infinity()).
std::uint64_t last_grid_point_not_above(const FloatFormat& format, const Dyadic& number);

// RNE of a non-zero number; of zero, +0.
std::uint64_t round_to_nearest_even(const FloatFormat& format, const Dyadic& number);

}  // namespace slow_model
