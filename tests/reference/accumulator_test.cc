// The fixed accumulator against 128-bit integers, at its edges, and its widths.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <vector>

#include "reference/accumulate/exact.h"
#include "reference/accumulate/exact_sum.h"
#include "reference/accumulate/exact_widths.h"

namespace moe4::test {
namespace {

__extension__ using Int128 = __int128;

// The whole value as units of 2^lsb, which must fit 128 bits.
template <int kLimbs, int kLsb>
Int128 units(const FixedAccumulator<kLimbs, kLsb>& accumulator) {
  const auto magnitude = accumulator.magnitude();
  for (int limb = 2; limb < kLimbs; ++limb) EXPECT_EQ(magnitude[limb], 0U);
  const auto low = static_cast<Int128>(Uint128{magnitude[1]} << 64 | magnitude[0]);
  return accumulator.is_negative() ? -low : low;
}

TEST(Accumulator, AgreesWithIntegers) {
  std::uint64_t mixed = 11;
  const auto next = [&mixed] {
    mixed = mixed * 6364136223846793005ULL + 1442695040888963407ULL;
    return mixed >> 20;
  };
  FixedAccumulator<5, -40> accumulator;
  Int128 total = 0;
  for (int draw = 0; draw < 100000; ++draw) {
    const bool negative = next() % 2 == 1;
    const std::uint64_t significand = next() >> (next() % 44);
    const int position = static_cast<int>(next() % 72);
    accumulator.add(negative, significand, position - 40);
    const Int128 term = static_cast<Int128>(significand) << position;
    total += negative ? -term : term;
    ASSERT_EQ(units(accumulator), total);
    ASSERT_EQ(accumulator.is_negative(), total < 0);
    ASSERT_EQ(accumulator.is_zero(), total == 0);
  }
}

// 2^k - 1 at every k: carries and borrows run through all limbs.
TEST(Accumulator, CarriesThroughAllLimbs) {
  for (int k = 0; k < 318; ++k) {
    for (const bool negative : {false, true}) {
      FixedAccumulator<5, 0> accumulator;
      accumulator.add(negative, 1, k);
      accumulator.add(!negative, 1, 0);
      EXPECT_EQ(accumulator.is_zero(), k == 0);
      if (k > 0) {
        EXPECT_EQ(accumulator.is_negative(), negative);
      }
      const auto magnitude = accumulator.magnitude();
      int ones = 0;
      for (const std::uint64_t limb : magnitude) ones += std::popcount(limb);
      EXPECT_EQ(ones, k) << "2^k - 1 has k ones";
      accumulator.add(negative, 1, 0);
      accumulator.add(!negative, 1, k);
      EXPECT_TRUE(accumulator.is_zero());
      EXPECT_FALSE(accumulator.is_negative());
    }
  }
}

TEST(Accumulator, WideSignificandsCrossThreeLimbs) {
  const Uint128 ones = ~Uint128{0};
  for (int exponent = 0; exponent < 192; ++exponent) {
    FixedAccumulator<5, 0> accumulator;
    accumulator.add(false, ones, exponent);
    accumulator.add(false, 1, exponent);  // 2^(128 + exponent)
    const WideMagnitude leading = accumulator.leading();
    EXPECT_EQ(leading.significand, std::uint64_t{1} << 63);
    EXPECT_EQ(leading.exponent, 128 + exponent - 63);
    EXPECT_FALSE(leading.sticky);
  }
}

TEST(Accumulator, LeadingBitsAndSticky) {
  for (int low = 0; low < 200; ++low) {
    for (int high = low + 1; high < 250; high += 7) {
      for (const bool negative : {false, true}) {
        FixedAccumulator<4, -100> accumulator;
        accumulator.add(negative, 1, high - 100);
        accumulator.add(negative, 1, low - 100);
        const WideMagnitude leading = accumulator.leading();
        ASSERT_EQ(leading.exponent, high - 100 - 63);
        const bool within = high - low <= 63;
        ASSERT_EQ(leading.significand,
                  (std::uint64_t{1} << 63) | (within ? std::uint64_t{1} << (63 - (high - low)) : 0));
        ASSERT_EQ(leading.sticky, !within);
      }
    }
  }
  EXPECT_EQ((FixedAccumulator<4, -100>{}.leading().significand), 0U);
}

TEST(Accumulator, ProductsWithAnotherAccumulator) {
  std::uint64_t mixed = 5;
  for (int draw = 0; draw < 20000; ++draw) {
    mixed = mixed * 6364136223846793005ULL + 1442695040888963407ULL;
    FixedAccumulator<3, -20> small;
    const std::uint64_t a = mixed >> 24;
    const std::uint64_t factor = mixed >> 5 & 0x3FFFFFF;
    small.add(mixed % 2 == 1, a, -20 + static_cast<int>(mixed >> 40 & 15));
    FixedAccumulator<4, -50> large;
    large.add_product(small, mixed % 4 >= 2, factor, -30);
    const Int128 expected = units(small) * static_cast<Int128>(factor) * (mixed % 4 >= 2 ? -1 : 1);
    ASSERT_EQ(units(large), expected);
    large.add(small);
    ASSERT_EQ(units(large), expected + (units(small) << 30));
  }
}

// The largest sum that VAL-6 admits fits: 2^62 terms of 6·2^128 times the largest F64, times the largest F64,
// plus the largest F64. Taking the parts away again, highest last, leaves the smallest unit.
TEST(Accumulator, WidthsHoldTheLargestSum) {
  const ExactValue largest = decode_float(kF64, kF64.infinity() - 1);
  for (const bool negative : {false, true}) {
    DotSum dot;
    dot.add(ExactValue::finite(negative, largest.significand * 12, largest.exponent + 127 + 62));
    EXPECT_EQ(dot.is_negative(), negative);
    EXPECT_FALSE(dot.is_zero());
    OutputSum sum;
    sum.add_product(largest, dot);
    sum.add(ExactValue::finite(negative, largest.significand, largest.exponent));
    sum.add(ExactValue::finite(negative, 1, kOutputRange.lsb));
    EXPECT_EQ(sum.is_negative(), negative);
    EXPECT_EQ(sum.round(kF64), (negative ? kF64.sign_bit() : 0) | kF64.infinity());
    sum.add(ExactValue::finite(!negative, largest.significand, largest.exponent));
    ExactValue minus_largest = largest;
    minus_largest.negative = true;
    sum.add_product(minus_largest, dot);
    EXPECT_EQ(sum.is_negative(), negative);
    EXPECT_EQ(sum.finite().leading().exponent + 63, kOutputRange.lsb);
  }
  // The finest product: the smallest BF16 subnormal, an INT4 weight, times 2^-1074 · 2^-1074.
  EXPECT_EQ(-133 - 1074 - 1074, kOutputRange.lsb);
}

TEST(ExactSum, ExtendedReals) {
  const ExactValue one = ExactValue::finite(false, 1, 0);
  const ExactValue plus = ExactValue::inf(false);
  const ExactValue minus = ExactValue::inf(true);
  const auto class_of = [](std::vector<ExactValue> terms) {
    DotSum sum;
    for (const ExactValue& term : terms) sum.add(term);
    return sum.cls();
  };
  EXPECT_EQ(class_of({}), SumClass::kFinite);
  EXPECT_EQ(class_of({one}), SumClass::kFinite);
  EXPECT_EQ(class_of({one, plus}), SumClass::kPlusInf);
  EXPECT_EQ(class_of({minus, one, minus}), SumClass::kMinusInf);
  EXPECT_EQ(class_of({plus, minus}), SumClass::kNan);
  EXPECT_EQ(class_of({ExactValue::nan(), plus}), SumClass::kNan);
  EXPECT_EQ(class_of({one, ExactValue::nan()}), SumClass::kNan);
}

// LIN-5: q = p · d for every class of p and of d.
TEST(ExactSum, ProductsOfEveryClass) {
  const ExactValue zero = ExactValue::finite(true, 0, 0);
  const ExactValue two = ExactValue::finite(false, 1, 1);
  const ExactValue minus_two = ExactValue::finite(true, 1, 1);
  const ExactValue plus = ExactValue::inf(false);
  const ExactValue minus = ExactValue::inf(true);
  const ExactValue nan = ExactValue::nan();
  const std::vector<ExactValue> values = {zero, two, minus_two, plus, minus, nan};
  using enum SumClass;
  const SumClass expected[6][6] = {
      // d: zero  two        -2         +Inf       -Inf       NaN         p:
      {kFinite, kFinite, kFinite, kNan, kNan, kNan},           // zero
      {kFinite, kFinite, kFinite, kPlusInf, kMinusInf, kNan},  // two
      {kFinite, kFinite, kFinite, kMinusInf, kPlusInf, kNan},  // -2
      {kNan, kPlusInf, kMinusInf, kPlusInf, kMinusInf, kNan},  // +Inf
      {kNan, kMinusInf, kPlusInf, kMinusInf, kPlusInf, kNan},  // -Inf
      {kNan, kNan, kNan, kNan, kNan, kNan},                    // NaN
  };
  for (std::size_t p = 0; p < 6; ++p) {
    for (std::size_t d = 0; d < 6; ++d) {
      DotSum dot;
      dot.add(values[d]);
      OutputSum sum;
      sum.add_product(values[p], dot);
      EXPECT_EQ(sum.cls(), expected[p][d]) << "p " << p << ", d " << d;
      if (sum.cls() == kFinite) {
        EXPECT_EQ(sum.is_zero(), p == 0 || d == 0);
      }
    }
  }
}

}  // namespace
}  // namespace moe4::test
