// FMT-7: round_to at every midpoint between neighbours, just beside it, and on every value. What is right
// follows from the order of the encodings alone: n and n + 1 are neighbours, the even one wins a tie.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "reference/accumulate/exact_widths.h"
#include "reference/arithmetic/round.h"

namespace moe4::test {
namespace {

WideMagnitude normalised(std::uint64_t significand, int exponent) {
  const int left = std::countl_zero(significand);
  return {significand << left, exponent - left, false};
}

// The magnitude half-way between the finite encoding n and n + 1. For the largest finite n, whose neighbour
// is the infinity, it is the value of n plus half its ulp.
WideMagnitude midpoint_above(const FloatFormat& format, std::uint64_t n) {
  const ExactValue value = decode_float(format, n);  // its exponent is that of its ulp
  return normalised(2 * value.significand + 1, value.exponent - 1);
}

void expect_midpoint(const FloatFormat& format, std::uint64_t n) {
  const WideMagnitude middle = midpoint_above(format, n);
  const WideMagnitude below = {middle.significand - 1, middle.exponent, true};
  const WideMagnitude just_below = normalised(middle.significand - 1, middle.exponent);
  const WideMagnitude just_above = {middle.significand + 1, middle.exponent, false};
  const WideMagnitude above = {middle.significand, middle.exponent, true};
  const std::uint64_t even = n % 2 == 0 ? n : n + 1;
  for (const bool negative : {false, true}) {
    const std::uint64_t sign = negative ? format.sign_bit() : 0;
    ASSERT_EQ(round_to(format, negative, middle), sign | even) << std::hex << n;
    // The midpoint under the smallest subnormal is a power of two: one less has no top bit, which sticky
    // demands.
    if ((below.significand >> 63) != 0) {
      ASSERT_EQ(round_to(format, negative, below), sign | n) << std::hex << n;
    }
    ASSERT_EQ(round_to(format, negative, just_below), sign | n) << std::hex << n;
    ASSERT_EQ(round_to(format, negative, just_above), sign | (n + 1)) << std::hex << n;
    ASSERT_EQ(round_to(format, negative, above), sign | (n + 1)) << std::hex << n;
  }
}

void expect_value_stays(const FloatFormat& format, std::uint64_t n) {
  const ExactValue value = decode_float(format, n);
  ASSERT_EQ(round_to(format, value), n) << std::hex << n;
  if (value.significand == 0) return;
  const WideMagnitude wide = normalised(value.significand, value.exponent);
  ASSERT_EQ(round_to(format, value.negative, wide), n);
  ASSERT_EQ(round_to(format, value.negative, {wide.significand, wide.exponent, true}), n) << "a bit more";
  ASSERT_EQ(round_to(format, value.negative, normalised(wide.significand - 1, wide.exponent)), n)
      << "a bit less";
}

TEST(Rounding, EveryMidpointOfBF16AndF16) {
  for (const FloatFormat& format : {kBF16, kF16}) {
    for (std::uint64_t n = 0; n < format.infinity(); ++n) expect_midpoint(format, n);
  }
}

TEST(Rounding, EveryValueOfBF16AndF16Stays) {
  for (const FloatFormat& format : {kBF16, kF16}) {
    for (std::uint64_t n = 0; n < format.infinity(); ++n) {
      expect_value_stays(format, n);
      expect_value_stays(format, n | format.sign_bit());
    }
  }
}

TEST(Rounding, EdgesAndSamplesOfF32AndF64) {
  for (const FloatFormat& format : {kF32, kF64}) {
    std::uint64_t mixed = 7;
    for (std::uint64_t field = 0; (field << format.mantissa_bits) < format.infinity(); ++field) {
      for (int draw = 0; draw < 40; ++draw) {
        mixed = mixed * 6364136223846793005ULL + 1442695040888963407ULL;
        const std::uint64_t edges[4] = {0, 1, format.mantissa_mask(), format.mantissa_mask() - 1};
        const std::uint64_t mantissa = draw < 4 ? edges[draw] : (mixed >> 11) & format.mantissa_mask();
        const std::uint64_t n = field << format.mantissa_bits | mantissa;
        expect_midpoint(format, n);
        expect_value_stays(format, n);
      }
    }
  }
}

TEST(Rounding, UnderHalfTheSmallestSubnormalIsAZeroOfItsSign) {
  for (const FloatFormat& format : {kBF16, kF16, kF32, kF64}) {
    const int half = format.lsb_exponent() - 1;
    for (const int exponent : {half - 1, half - 2, half - 64, half - 65, half - 2000}) {
      EXPECT_EQ(round_to(format, false, normalised(1, exponent)), 0U);
      EXPECT_EQ(round_to(format, true, normalised(1, exponent)), format.sign_bit());
    }
    EXPECT_EQ(round_to(format, true, normalised(1, half)), format.sign_bit())
        << "the tie goes to the even zero";
    EXPECT_EQ(round_to(format, true, {std::uint64_t{1} << 63, half - 63, true}), format.sign_bit() | 1);
  }
}

TEST(Rounding, OverflowIsInfinityOfItsSign) {
  for (const FloatFormat& format : {kBF16, kF16, kF32, kF64}) {
    const ExactValue largest = decode_float(format, format.infinity() - 1);
    const int ulp = largest.exponent;
    // Largest + ulp/2 - a little, largest + ulp/2, 2^(bias+1), far above.
    const WideMagnitude middle = normalised(2 * largest.significand + 1, ulp - 1);
    EXPECT_EQ(round_to(format, false, {middle.significand - 1, middle.exponent, true}),
              format.infinity() - 1);
    EXPECT_EQ(round_to(format, true, {middle.significand - 1, middle.exponent, true}),
              format.sign_bit() | (format.infinity() - 1));
    EXPECT_EQ(round_to(format, false, middle), format.infinity());
    for (const int exponent : {format.bias() + 1, format.bias() + 2, format.bias() + 64, 2300}) {
      EXPECT_EQ(round_to(format, false, normalised(1, exponent)), format.infinity());
      EXPECT_EQ(round_to(format, true, normalised(1, exponent)), format.sign_bit() | format.infinity());
    }
  }
  // 65520 is the first F16 magnitude that overflows.
  EXPECT_EQ(round_to(kF16, ExactValue::finite(false, 65519, 0)), 0x7BFFU);
  EXPECT_EQ(round_to(kF16, ExactValue::finite(false, 65520, 0)), 0x7C00U);
}

TEST(Rounding, NonFiniteValues) {
  for (const FloatFormat& format : {kBF16, kF16, kF32, kF64}) {
    EXPECT_EQ(round_to(format, ExactValue::nan()), format.canonical_nan());
    EXPECT_EQ(round_to(format, ExactValue::inf(false)), format.infinity());
    EXPECT_EQ(round_to(format, ExactValue::inf(true)), format.sign_bit() | format.infinity());
  }
}

// The same ties through the accumulator, where what breaks the tie lies hundreds of limbs' bits below.
TEST(Rounding, MidpointsInTheAccumulator) {
  for (const FloatFormat& format : {kBF16, kF16, kF32, kF64}) {
    const std::uint64_t step = format.infinity() / 997 + 1;
    for (std::uint64_t n = 0; n < format.infinity(); n += step) {
      const ExactValue value = decode_float(format, n);
      for (const bool negative : {false, true}) {
        const std::uint64_t sign = negative ? format.sign_bit() : 0;
        OutputSum middle;
        middle.add(ExactValue::finite(negative, 2 * value.significand + 1, value.exponent - 1));
        OutputSum above = middle;
        above.add(ExactValue::finite(negative, 1, kOutputRange.lsb));
        OutputSum below = middle;
        below.add(ExactValue::finite(!negative, 1, kOutputRange.lsb));
        ASSERT_EQ(middle.round(format), sign | (n % 2 == 0 ? n : n + 1)) << std::hex << n;
        ASSERT_EQ(above.round(format), sign | (n + 1)) << std::hex << n;
        ASSERT_EQ(below.round(format), sign | n) << std::hex << n;
      }
    }
  }
}

// A third opinion: the host's conversion of F64 to F32, which is to nearest even.
TEST(Rounding, HostConversionAgrees) {
  std::uint64_t mixed = 3;
  for (int draw = 0; draw < 200000; ++draw) {
    mixed = mixed * 6364136223846793005ULL + 1442695040888963407ULL;
    // Exponent fields around the whole F32 range, so that subnormals and overflow come up.
    const std::uint64_t field = 1023 - 160 + (mixed >> 33) % 300;
    const std::uint64_t bits =
        (mixed << 40 & (1ULL << 63)) | field << 52 | (mixed >> 12 & kF64.mantissa_mask());
    const auto single = static_cast<float>(std::bit_cast<double>(bits));
    ASSERT_EQ(round_to(kF32, decode(F64Bits{bits})), std::bit_cast<std::uint32_t>(single))
        << std::hex << bits;
  }
}

}  // namespace
}  // namespace moe4::test
