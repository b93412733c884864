// FMT: decoding, every encoding where there are at most 2^16, against the definitions in plain double
// arithmetic.
#include <gtest/gtest.h>

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <vector>

#include "reference/formats/e2m1.h"
#include "reference/formats/e8m0.h"
#include "reference/formats/float_format.h"
#include "reference/formats/packed_codes.h"
#include "reference/linear/weight.h"
#include "tests/reference/problem.h"

namespace moe4::test {
namespace {

// Every finite value of every format here is exact in a long double of 64 or more significant bits.
static_assert(LDBL_MANT_DIG >= 64 && LDBL_MAX_EXP >= 16384);

long double number_of(const ExactValue& value) {
  const long double magnitude = std::ldexp(static_cast<long double>(value.significand), value.exponent);
  return value.negative ? -magnitude : magnitude;
}

// FMT-1 by its fields: (-1)^s · 2^(e-1) · (1 + m/2), and m/2 for e = 0.
double e2m1_by_fields(int code) {
  const int e = (code >> 1) & 3;
  const int m = code & 1;
  const double magnitude = e == 0 ? m / 2.0 : std::ldexp(1 + m / 2.0, e - 1);
  return code >= 8 ? -magnitude : magnitude;
}

TEST(Formats, E2M1) {
  const std::vector<double> magnitudes = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (int code = 0; code < 16; ++code) {
    const ExactValue value = decode(E2M1Bits{static_cast<std::uint8_t>(code)});
    EXPECT_TRUE(value.is_finite());
    EXPECT_EQ(value.negative, code >= 8) << code;
    EXPECT_EQ(std::fabs(number_of(value)), magnitudes[code & 7]) << code;
    EXPECT_EQ(number_of(value), e2m1_by_fields(code)) << code;
  }
}

TEST(Formats, E8M0) {
  for (int byte = 0; byte < 255; ++byte) {
    const ExactValue value = decode(E8M0Bits{static_cast<std::uint8_t>(byte)});
    EXPECT_TRUE(value.is_finite());
    EXPECT_EQ(number_of(value), std::ldexp(1.0L, byte - 127)) << byte;
  }
  EXPECT_EQ(decode(E8M0Bits{255}).cls, ValueClass::kNan);
}

TEST(Formats, LowNibbleFirst) {
  for (int byte = 0; byte < 256; ++byte) {
    EXPECT_EQ(code_in_byte(static_cast<std::uint8_t>(byte), 0).bits, byte % 16);
    EXPECT_EQ(code_in_byte(static_cast<std::uint8_t>(byte), 31).bits, byte / 16);
  }
  for (int element = 0; element < 32; ++element) EXPECT_EQ(byte_of_element(element), element / 2);
}

TEST(Formats, EveryByteAtEveryScale) {
  for (int scale = 0; scale < 256; ++scale) {
    const auto weights = weights_of_group(E8M0Bits{static_cast<std::uint8_t>(scale)}, Policy{});
    for (int byte = 0; byte < 256; ++byte) {
      for (int nibble = 0; nibble < 2; ++nibble) {
        const int code = nibble == 0 ? byte % 16 : byte / 16;
        const ExactValue& weight = weights[code_in_byte(static_cast<std::uint8_t>(byte), nibble).bits];
        if (scale == 255) {
          ASSERT_EQ(weight.cls, ValueClass::kNan);
        } else {
          ASSERT_TRUE(weight.is_finite());
          ASSERT_EQ(number_of(weight), std::ldexp(e2m1_by_fields(code), scale - 127)) << byte << " " << scale;
        }
      }
    }
  }
}

// The same through the whole function: expert = scale byte, row = packed byte, and one token a nibble. F64
// tokens show every product unrounded.
TEST(Formats, EveryByteAtEveryScaleThroughTheLinear) {
  Problem problem({.tokens = 512, .experts = 256, .out = 256}, {.x = Dtype::kF64});
  problem.code(0).x(0);
  for (int scale = 0; scale < 256; ++scale) {
    for (int byte = 0; byte < 256; ++byte) {
      problem.byte(scale, byte, byte % 16, static_cast<std::uint8_t>(byte)).scale(scale, byte, 0, scale);
    }
    for (int nibble = 0; nibble < 2; ++nibble) {
      const int token = 2 * scale + nibble;
      set(problem.selected_experts, token, scale);
      for (int j = 0; j < 16; ++j) problem.x(token, 2 * j + nibble, 1.0);
    }
  }
  const Result<Tensor> output = problem.run();
  ASSERT_TRUE(output.ok()) << output.error().message();
  for (int token = 0; token < 512; ++token) {
    for (int byte = 0; byte < 256; ++byte) {
      const int code = token % 2 == 0 ? byte % 16 : byte / 16;
      const double zero_is_plus = e2m1_by_fields(code) == 0 ? 0.0 : e2m1_by_fields(code);
      const double expected = token / 2 == 255 ? std::nan("") : std::ldexp(zero_is_plus, token / 2 - 127);
      ASSERT_EQ(bits_at(*output, token * 256 + byte), encode(Dtype::kF64, expected)) << token << " " << byte;
    }
  }
}

// FMT-6 by its fields.
void expect_decodes(const FloatFormat& format, std::uint64_t bits) {
  const ExactValue value = decode_float(format, bits);
  const bool negative = (bits >> (format.exponent_bits + format.mantissa_bits)) != 0;
  const std::uint64_t field = (bits >> format.mantissa_bits) % (1ULL << format.exponent_bits);
  const std::uint64_t mantissa = bits % (1ULL << format.mantissa_bits);
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  if (field == (1ULL << format.exponent_bits) - 1) {
    ASSERT_EQ(value.cls, mantissa == 0 ? ValueClass::kInf : ValueClass::kNan) << std::hex << bits;
    if (mantissa == 0) {
      ASSERT_EQ(value.negative, negative);
    }
    return;
  }
  ASSERT_TRUE(value.is_finite()) << std::hex << bits;
  ASSERT_EQ(value.negative, negative) << std::hex << bits;
  const long double fraction = std::ldexp(static_cast<long double>(mantissa), -format.mantissa_bits);
  const long double magnitude =
      field == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, static_cast<int>(field) - bias);
  ASSERT_EQ(std::fabs(number_of(value)), magnitude) << std::hex << bits;
}

TEST(Formats, EveryBF16AndF16) {
  for (std::uint64_t bits = 0; bits < 0x10000; ++bits) {
    expect_decodes(kBF16, bits);
    expect_decodes(kF16, bits);
  }
}

TEST(Formats, EdgesAndSamplesOfF32AndF64) {
  for (const FloatFormat& format : {kF32, kF64}) {
    std::uint64_t mixed = 0x9E3779B97F4A7C15;
    for (std::uint64_t field = 0; field < (1ULL << format.exponent_bits); ++field) {
      mixed = mixed * 6364136223846793005ULL + 1442695040888963407ULL;
      for (const std::uint64_t mantissa :
           {std::uint64_t{0}, std::uint64_t{1}, format.mantissa_mask(), mixed & format.mantissa_mask()}) {
        const std::uint64_t bits = field << format.mantissa_bits | mantissa;
        expect_decodes(format, bits);
        expect_decodes(format, bits | format.sign_bit());
      }
    }
  }
}

// A third opinion on the two formats that the host has.
TEST(Formats, HostFloatsAgree) {
  std::uint64_t mixed = 1;
  for (int draw = 0; draw < 100000; ++draw) {
    mixed = mixed * 6364136223846793005ULL + 1442695040888963407ULL;
    const auto single = std::bit_cast<float>(static_cast<std::uint32_t>(mixed >> 32));
    const auto twice = std::bit_cast<double>(mixed);
    const ExactValue f32 = decode(F32Bits{std::bit_cast<std::uint32_t>(single)});
    const ExactValue f64 = decode(F64Bits{mixed});
    if (std::isfinite(single)) {
      ASSERT_EQ(number_of(f32), static_cast<long double>(single));
    }
    if (std::isfinite(twice)) {
      ASSERT_EQ(number_of(f64), static_cast<long double>(twice));
    }
    ASSERT_EQ(f32.cls == ValueClass::kNan, std::isnan(single));
    ASSERT_EQ(f64.cls == ValueClass::kInf, std::isinf(twice));
  }
}

TEST(Formats, CanonicalNan) {
  EXPECT_EQ(kBF16.canonical_nan(), 0x7FC0U);
  EXPECT_EQ(kF16.canonical_nan(), 0x7E00U);
  EXPECT_EQ(kF32.canonical_nan(), 0x7FC00000U);
  EXPECT_EQ(kF64.canonical_nan(), 0x7FF8000000000000U);
}

// COR-1 and COR-2: what each policy makes of the two edge bytes; no other byte changes.
TEST(Formats, ScalePolicies) {
  Policy formula;
  formula.scale_nan = ScaleNan::kFormula;
  Policy inf;
  inf.scale_nan = ScaleNan::kInf;
  Policy flush;
  flush.scale_zero = ScaleZero::kFlush;
  for (int code = 0; code < 16; ++code) {
    const bool negative = code >= 8;
    const ExactValue by_formula = weights_of_group({255}, formula)[code];
    EXPECT_TRUE(by_formula.is_finite());
    EXPECT_EQ(number_of(by_formula), std::ldexp(e2m1_by_fields(code), 128));
    const ExactValue by_inf = weights_of_group({255}, inf)[code];
    EXPECT_EQ(by_inf.cls, code % 8 == 0 ? ValueClass::kNan : ValueClass::kInf) << code;
    if (code % 8 != 0) {
      EXPECT_EQ(by_inf.negative, negative);
    }
    EXPECT_TRUE(weights_of_group({0}, flush)[code].is_zero());
    EXPECT_EQ(weights_of_group({255}, flush)[code].cls, ValueClass::kNan);
    for (int byte = 1; byte < 255; ++byte) {
      const E8M0Bits scale{static_cast<std::uint8_t>(byte)};
      for (const Policy& policy : {formula, inf, flush}) {
        ASSERT_EQ(number_of(weights_of_group(scale, policy)[code]),
                  std::ldexp(e2m1_by_fields(code), byte - 127));
      }
    }
  }
}

}  // namespace
}  // namespace moe4::test
