// FMT-6: BF16, F16, F32 and F64, the IEEE 754 binary interchange formats, as records of two numbers.
#pragma once

#include <cstdint>

#include "reference/formats/exact_value.h"
#include "reference/tensor.h"

namespace moe4 {

// Encodings are the low width() bits of a uint64_t: sign, exponent field, mantissa.
struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;

  constexpr int width() const { return 1 + exponent_bits + mantissa_bits; }
  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  // Every finite value is a multiple of 2^lsb_exponent(), the smallest subnormal.
  constexpr int lsb_exponent() const { return 1 - bias() - mantissa_bits; }
  constexpr std::uint64_t sign_bit() const { return std::uint64_t{1} << (width() - 1); }
  constexpr std::uint64_t mantissa_mask() const { return (std::uint64_t{1} << mantissa_bits) - 1; }
  // The encoding of +Inf, which is also the mask of the exponent field.
  constexpr std::uint64_t infinity() const {
    return ((std::uint64_t{1} << exponent_bits) - 1) << mantissa_bits;
  }
  // FMT-8.
  constexpr std::uint64_t canonical_nan() const {
    return infinity() | (std::uint64_t{1} << (mantissa_bits - 1));
  }

  friend constexpr bool operator==(const FloatFormat&, const FloatFormat&) = default;
};

inline constexpr FloatFormat kBF16{8, 7};
inline constexpr FloatFormat kF16{5, 10};
inline constexpr FloatFormat kF32{8, 23};
inline constexpr FloatFormat kF64{11, 52};

struct BF16Bits {
  std::uint16_t bits;
  static constexpr FloatFormat kFormat = kBF16;
};
struct F16Bits {
  std::uint16_t bits;
  static constexpr FloatFormat kFormat = kF16;
};
struct F32Bits {
  std::uint32_t bits;
  static constexpr FloatFormat kFormat = kF32;
};
struct F64Bits {
  std::uint64_t bits;
  static constexpr FloatFormat kFormat = kF64;
};

// FMT-6, FMT-9: the exact value of an encoding.
constexpr ExactValue decode_float(const FloatFormat& format, std::uint64_t bits) {
  const bool negative = (bits & format.sign_bit()) != 0;
  const std::uint64_t mantissa = bits & format.mantissa_mask();
  const int field = static_cast<int>((bits & format.infinity()) >> format.mantissa_bits);
  if ((bits & format.infinity()) == format.infinity()) {
    return mantissa == 0 ? ExactValue::inf(negative) : ExactValue::nan();
  }
  if (field == 0) return ExactValue::finite(negative, mantissa, format.lsb_exponent());
  const std::uint64_t hidden_bit = std::uint64_t{1} << format.mantissa_bits;
  return ExactValue::finite(negative, hidden_bit | mantissa, format.lsb_exponent() + field - 1);
}

template <class Bits>
constexpr ExactValue decode(Bits bits) {
  return decode_float(Bits::kFormat, bits.bits);
}

// Precondition: is_float(dtype).
constexpr FloatFormat format_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kBF16:
      return kBF16;
    case Dtype::kF16:
      return kF16;
    case Dtype::kF32:
      return kF32;
    default:
      return kF64;
  }
}

}  // namespace moe4
