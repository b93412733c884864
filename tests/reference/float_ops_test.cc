// ACC-3, ACC-4, PRO-1: the rounded operations, against sums in the exact accumulator.
#include "reference/profile/float_ops.h"

#include <gtest/gtest.h>

#include "reference/accumulate/exact_widths.h"
#include "reference/profile/plan_sum.h"
#include "tests/reference/adversarial_data.h"

namespace moe4::test {
namespace {

// Bits of a float with exponents near each other and near the edges, never Inf or NaN.
float drawn_float(Random& random) {
  const std::uint64_t field = random.below(8) == 0 ? random.below(255) : 100 + random.below(40);
  return std::bit_cast<float>(
      static_cast<std::uint32_t>(random.below(2) << 31 | field << 23 | random.below(1U << 23)));
}

TEST(FloatOps, AddOnceRoundsTheExactSumOnce) {
  Random random(1);
  int inexact = 0;
  for (int n = 0; n < 40000; ++n) {
    const float c = drawn_float(random);
    double p = static_cast<double>(drawn_float(random)) * static_cast<double>(drawn_float(random));
    if (n % 2 == 0) {  // half an ulp of c, and a speck that a double sum cannot hold
      const double half_ulp = std::ldexp(1.0, std::ilogb(c) - 24) * random.sign();
      p = half_ulp * (1 + std::ldexp(random.sign(), -20 - static_cast<int>(random.below(32))));
    }
    OutputSum sum;
    sum.add(exact_value(c));
    sum.add(exact_value(p));
    const auto expected = static_cast<std::uint32_t>(sum.round(kF32));
    const auto got = std::bit_cast<std::uint32_t>(add_once(c, p));
    ASSERT_EQ(got, expected) << std::hexfloat << c << " + " << p;
    inexact += static_cast<double>(std::bit_cast<float>(got)) != static_cast<double>(c) + p ? 1 : 0;
  }
  EXPECT_GT(inexact, 10000);
}

// c + p in double is 1 + 2^-24 and rounds to 1; the exact sum is a speck more.
TEST(FloatOps, AddOnceIsNoDoubleRounding) {
  EXPECT_EQ(add_once(1.0F, 0x1p-24 + 0x1p-76), 0x1.000002p0F);
  EXPECT_EQ(add_once(1.0F, 0x1p-24), 1.0F);
  EXPECT_EQ(add_once(1.0F, 0x1p-24 - 0x1p-77), 1.0F);
  EXPECT_EQ(add_once(-1.0F, -0x1p-24 - 0x1p-76), -0x1.000002p0F);
  EXPECT_EQ(add_once(0x1.fffffep127F, 0x1p103), INFINITY);
  EXPECT_EQ(add_once(0x1.fffffep127F, 0x1.fffffffffffffp102), 0x1.fffffep127F);
  EXPECT_TRUE(std::isnan(add_once(INFINITY, -INFINITY)));
  EXPECT_TRUE(std::signbit(add_once(-0.0F, -0.0)));
  EXPECT_FALSE(std::signbit(add_once(-0.0F, 0.0)));
}

TEST(FloatOps, FlushesOperandsAndResults) {
  Arithmetic a;
  a.ftz = true;
  const FloatOps<float> ops(a);
  EXPECT_EQ(ops.add_product(0, 0x1p-64, 0x1p-62), 0x1p-126F) << "the smallest normal is kept";
  EXPECT_EQ(ops.add_product(0, 0x1p-64, 0x1p-63), 0) << "2^-127 is flushed";
  EXPECT_TRUE(std::signbit(ops.add_product(-0.0F, -0x1p-64, 0x1p-63))) << "to a zero of its sign";
  EXPECT_EQ(ops.add_product(0, 0x1p-127, 0x1p20), 0) << "a subnormal weight is zero";
  EXPECT_EQ(ops.add_product(0, 0x1p20, 0x1p-130), 0) << "and so is a subnormal token";
  EXPECT_EQ(ops.add_product(-0x1p-126F, 0x1.8p-63, 0x1p-63), 0) << "1.5·2^-126 - 2^-126";
  EXPECT_EQ(ops.add_product(0, (1 - 0x1p-25) * 0x1p-63, 0x1p-63), 0x1p-126F) << "it rounds up to a normal";
  EXPECT_EQ(ops.add(0x1p-127F, 0x1p-127F), 0) << "both operands are";
  a.product_rounded = true;
  EXPECT_EQ(FloatOps<float>(a).add_product(0x1p-126F, 0x1p-64, 0x1p-63), 0x1p-126F) << "the product is";
  EXPECT_EQ(FloatOps<double>(a).add_product(0, 0x1p-64, 0x1p-63), 0x1p-127) << "F64 has no ftz";
  a.ftz = false;
  EXPECT_EQ(FloatOps<float>(a).add_product(0, 0x1p-127, 0x1p-3), 0x1p-130F);
}

TEST(FloatOps, SumsOfBf16) {
  EXPECT_EQ(add_bf16(0x3F80, 0x3B80), 0x3F80U) << "1 + 2^-8, a tie to even";
  EXPECT_EQ(add_bf16(0x3F81, 0x3B80), 0x3F82U) << "a tie to even, up";
  EXPECT_EQ(add_bf16(0x3F80, 0xBF80), 0U);
  EXPECT_EQ(add_bf16(0x8000, 0x8000), 0x8000U);
  EXPECT_EQ(add_bf16(0x8000, 0), 0U);
  EXPECT_EQ(add_bf16(0x7F7F, 0x7B00), 0x7F80U);
  EXPECT_EQ(add_bf16(0x7F80, 0xFF80), 0x7FC0U);
}

}  // namespace
}  // namespace moe4::test
