#include "tests/support/slow_model/float_format.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

namespace slow_model {
namespace {

TEST(FloatFormat, ConstantsOfTheFormats) {
  const std::uint64_t infinities[] = {0x7F80, 0x7C00, 0x7F800000, 0x7FF0000000000000};
  const std::uint64_t nans[] = {0x7FC0, 0x7E00, 0x7FC00000, 0x7FF8000000000000};  // FMT-8
  const std::uint64_t ones[] = {0x3F80, 0x3C00, 0x3F800000, 0x3FF0000000000000};
  for (int n = 0; n < 4; ++n) {
    EXPECT_EQ(kFloatFormats[n].infinity(), infinities[n]);
    EXPECT_EQ(kFloatFormats[n].canonical_nan(), nans[n]);
    EXPECT_EQ(kFloatFormats[n].one(), ones[n]);
  }
}

// The value of a finite double, through frexp rather than through its bits.
Dyadic exact(double value) {
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);
  const Dyadic magnitude =
      Dyadic::scaled(static_cast<std::uint64_t>(std::ldexp(fraction, 53)), exponent - 53);
  return value < 0 ? -magnitude : magnitude;
}

TEST(FloatFormat, ReadsWhatTheHardwareReads) {
  std::mt19937_64 engine(3);
  for (int n = 0; n < 20000; ++n) {
    const std::uint64_t bits64 = engine() >> (n % 2 == 0 ? 0 : 11);
    const double d = std::bit_cast<double>(bits64);
    ASSERT_EQ(value_of(kF64, bits64).is_finite(), std::isfinite(d));
    if (std::isfinite(d)) {
      ASSERT_EQ(value_of(kF64, bits64).value, exact(d));
    }
    const auto bits32 = static_cast<std::uint32_t>(engine() >> (n % 2 == 0 ? 0 : 41));
    const float f = std::bit_cast<float>(bits32);
    ASSERT_EQ(value_of(kF32, bits32).is_nan(), std::isnan(f));
    if (std::isfinite(f)) {
      ASSERT_EQ(value_of(kF32, bits32).value, exact(double{f}));
    }
    const std::uint64_t bits16 = bits32 >> 16;  // FMT-6: BF16 is the upper half of F32
    ASSERT_EQ(value_of(kBf16, bits16), value_of(kF32, bits16 << 16));
  }
}

TEST(FloatFormat, F16ByItsFormula) {
  for (std::uint64_t bits = 0; bits < 0x7C00; ++bits) {
    const int field = static_cast<int>(bits / 1024);
    const int mantissa = static_cast<int>(bits % 1024);
    const double value = field == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, field - 25);
    ASSERT_EQ(value_of(kF16, bits).value, exact(value));
    ASSERT_EQ(value_of(kF16, bits | 0x8000).value, exact(-value));
  }
  EXPECT_TRUE(value_of(kF16, 0xFC00).is_infinite());
  EXPECT_TRUE(value_of(kF16, 0x7C01).is_nan());
}

TEST(FloatFormat, RoundsDoublesToFloatsAsTheHardwareDoes) {
  std::mt19937_64 engine(4);
  for (int n = 0; n < 40000; ++n) {
    // Exponents across float's whole range and a little beyond; few low bits, so that ties are common.
    const std::uint64_t field = 1023 - 155 + engine() % 290;
    const std::uint64_t mantissa = (engine() >> 12) & ~((std::uint64_t{1} << (engine() % 52)) - 1);
    const std::uint64_t bits = (engine() >> 63) << 63 | field << 52 | mantissa;
    const float hardware = static_cast<float>(std::bit_cast<double>(bits));
    ASSERT_EQ(round_to_nearest_even(kF32, value_of(kF64, bits).value), std::bit_cast<std::uint32_t>(hardware))
        << std::hex << bits;
  }
}

TEST(FloatFormat, RoundsLongDoublesToDoublesAsTheHardwareDoes) {
  static_assert(__LDBL_MANT_DIG__ >= 64);
  std::mt19937_64 engine(5);
  for (int n = 0; n < 40000; ++n) {
    const std::uint64_t significand = engine() | std::uint64_t{1} << 63;
    const std::uint64_t cut = significand & ~((std::uint64_t{1} << (engine() % 16)) - 1);
    const int exponent = -1150 + static_cast<int>(engine() % 2200);
    const double hardware = static_cast<double>(std::ldexp(static_cast<long double>(cut), exponent));
    ASSERT_EQ(round_to_nearest_even(kF64, Dyadic::scaled(cut, exponent)),
              std::bit_cast<std::uint64_t>(hardware));
  }
}

// FMT-7 at every grid point, every midpoint and just beside it, of both 16-bit formats.
TEST(FloatFormat, RoundsAtEveryMidpointOfThe16BitFormats) {
  const Dyadic tiny = Dyadic::scaled(1, -400);
  for (const FloatFormat& format : {kBf16, kF16}) {
    for (std::uint64_t n = 0; n < format.infinity(); ++n) {
      const Dyadic middle = midpoint_above(format, n);
      const std::uint64_t even = n % 2 == 0 ? n : n + 1;
      ASSERT_EQ(round_to_nearest_even(format, grid_point(format, n)), n);
      ASSERT_EQ(round_to_nearest_even(format, middle), even);
      ASSERT_EQ(round_to_nearest_even(format, middle - tiny), n);
      ASSERT_EQ(round_to_nearest_even(format, middle + tiny), n + 1);
      ASSERT_EQ(round_to_nearest_even(format, -middle - tiny), format.sign_bit() | (n + 1));
    }
  }
}

TEST(FloatFormat, OverflowStartsHalfAnUlpAboveTheLargest) {
  EXPECT_EQ(round_to_nearest_even(kF16, Dyadic::scaled(65520, 0)), 0x7C00u);
  EXPECT_EQ(round_to_nearest_even(kF16, Dyadic::scaled(65519, 0)), 0x7BFFu);
  EXPECT_EQ(round_to_nearest_even(kF32, Dyadic::scaled(0x1FFFFFF, 103)), 0x7F800000u);
  EXPECT_EQ(round_to_nearest_even(kF32, Dyadic::scaled(0x1FFFFFF, 103) - Dyadic::scaled(1, -149)),
            0x7F7FFFFFu);
  EXPECT_EQ(round_to_nearest_even(kBf16, -Dyadic::scaled(1, 4000)), 0xFF80u);
}

TEST(FloatFormat, ATinyNumberKeepsItsSignAsZero) {
  EXPECT_EQ(round_to_nearest_even(kBf16, -Dyadic::scaled(1, -134)), 0x8000u);  // a tie with zero
  EXPECT_EQ(round_to_nearest_even(kBf16, -Dyadic::scaled(3, -135)), 0x8001u);
  EXPECT_EQ(round_to_nearest_even(kF64, Dyadic::scaled(1, -3000)), 0u);
}

}  // namespace
}  // namespace slow_model
