// INT-9, INT-10: every order of dequantisation by a worked example, by how often it differs from the norm,
// and at its corners.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <string>

#include "reference/accumulate/exact_widths.h"
#include "reference/arithmetic/product.h"
#include "reference/arithmetic/round.h"
#include "reference/linear/int4_weight.h"
#include "reference/profile/int4_dequant.h"

namespace moe4::test {
namespace {

Int4Term term(int scale, int code, Int4Order order) {
  return dequantise(Int4Bits{static_cast<std::uint8_t>(code)}, BF16Bits{static_cast<std::uint16_t>(scale)},
                    order);
}

// The weight as BF16 bits: exact for the orders that round to BF16.
std::uint64_t bits(int scale, int code, Int4Order order) {
  return round_to(kBF16, term(scale, code, order).weight);
}

struct Example {
  Int4Order order;
  int scale;
  int code;
  std::uint64_t norm;
  std::uint64_t other;
};

TEST(Int4Orders, WorkedExamples) {
  const Example examples[] = {
      {Int4Order::kFma, 0x3BA4, 0, 0xBD24, 0xBD20},
      {Int4Order::kTwoRoundings, 0x3BA4, 7, 0xBBA4, 0xBBA0},
      {Int4Order::kTruncate, 0x3BA4, 1, 0xBD10, 0xBD0F},
      {Int4Order::kTiesAway, 0x3BA7, 2, 0xBCFA, 0xBCFB},
      {Int4Order::kF16Multiply, 0x3401, 0, 0xB581, 0xB580},
      {Int4Order::kZeroPoint7, 0x3BA4, 0, 0xBD24, 0xBD10},
      {Int4Order::kTwosComplement, 0x3BA4, 0, 0xBD24, 0x0000},
  };
  for (const Example& e : examples) {
    EXPECT_EQ(bits(e.scale, e.code, Int4Order::kNorm), e.norm) << name_of(e.order);
    EXPECT_EQ(bits(e.scale, e.code, e.order), e.other) << name_of(e.order);
  }
}

TEST(Int4Orders, ScaleKeptInF32) {
  const F32Bits scale{0x3C4985F0};  // 0.0123; as a BF16 number 0x3C4A
  const Int4Bits code{1};
  EXPECT_EQ(round_to(kBF16, dequantise(code, scale, Int4Order::kNorm).weight), 0xBDB1U);
  EXPECT_EQ(round_to(kBF16, dequantise(code, scale, Int4Order::kF32Scale).weight), 0xBDB0U);
  EXPECT_EQ(bits(0x3C4A, 1, Int4Order::kF32Scale), 0xBDB1U) << "a BF16 scale: the norm";
}

// y = factor · Σ weight · x for `count` equal products, rounded to BF16.
std::uint64_t sum_of(int scale, int code, double x, int count, Int4Order order) {
  const Int4Term t = term(scale, code, order);
  DotSum dot;
  const ExactValue value = decode(F64Bits{std::bit_cast<std::uint64_t>(x)});
  for (int n = 0; n < count; ++n) dot.add(product(t.weight, value));
  OutputSum sum;
  sum.add_product(t.group_factor, dot);
  return sum.round(kBF16);
}

TEST(Int4Orders, UnroundedWeightsShowInSums) {
  EXPECT_EQ(sum_of(0x3BA4, 1, 3, 1, Int4Order::kNorm), 0xBDD8U);
  EXPECT_EQ(sum_of(0x3BA9, 1, 1, 7168, Int4Order::kNorm), 0xC382U) << "-260";
  for (const Int4Order order : {Int4Order::kExactW, Int4Order::kAccumulatorScale}) {
    EXPECT_EQ(sum_of(0x3BA4, 1, 3, 1, order), 0xBDD7U) << name_of(order);
    EXPECT_EQ(sum_of(0x3BA9, 1, 1, 7168, order), 0xC381U) << name_of(order) << ": -258";
  }
}

// Over the scales of 0.005 to 0.045, 405 of them: how many of the 6480 pairs differ from the norm.
TEST(Int4Orders, HowOftenTheyDiffer) {
  const auto differing = [](Int4Order order) {
    int count = 0;
    for (int scale = 0x3BA4; scale <= 0x3D38; ++scale) {
      for (int code = 0; code < 16; ++code) {
        count += bits(scale, code, order) != bits(scale, code, Int4Order::kNorm) ? 1 : 0;
      }
    }
    return count;
  };
  EXPECT_EQ((0x3D38 - 0x3BA4 + 1) * 16, 6480);
  EXPECT_EQ(differing(Int4Order::kFma), 6080);
  EXPECT_EQ(differing(Int4Order::kTwoRoundings), 2494);
  EXPECT_EQ(differing(Int4Order::kTruncate), 1190);
  EXPECT_EQ(differing(Int4Order::kTiesAway), 402);
  EXPECT_EQ(differing(Int4Order::kF16Multiply), 0) << "scales above 2^-17 are F16 numbers";
  EXPECT_EQ(differing(Int4Order::kF32Scale), 0);
  EXPECT_EQ(differing(Int4Order::kExactW), 0) << "rounded, it is the norm";
}

TEST(Int4Orders, TheNormIsTheNormForEveryScale) {
  for (int scale = 0; scale < 0x10000; scale += 7) {
    for (int code = 0; code < 16; ++code) {
      const auto norm =
          int4_weight(Int4Bits{static_cast<std::uint8_t>(code)}, BF16Bits{static_cast<std::uint16_t>(scale)});
      ASSERT_EQ(bits(scale, code, Int4Order::kNorm), norm.bits);
      ASSERT_EQ(bits(scale, code, Int4Order::kExactW), norm.bits);
    }
  }
}

// Host arithmetic in F32, where q·s is exact.
TEST(Int4Orders, TruncationAndTiesByHostArithmetic) {
  for (int scale = 0; scale < 0x10000; scale += 3) {
    for (int code = 0; code < 16; ++code) {
      const auto s = std::bit_cast<float>(static_cast<std::uint32_t>(scale) << 16);
      const float exact = static_cast<float>(code - 8) * s;
      const auto product_bits = std::bit_cast<std::uint32_t>(exact);
      const bool nan = (product_bits & 0x7FFFFFFF) > 0x7F800000;
      ASSERT_EQ(bits(scale, code, Int4Order::kTruncate), nan ? 0x7FC0U : product_bits >> 16);
      ASSERT_EQ(bits(scale, code, Int4Order::kTiesAway), nan ? 0x7FC0U : (product_bits + 0x8000) >> 16);
    }
  }
}

TEST(Int4Orders, Corners) {
  constexpr int kLargest = 0x7F7F;
  constexpr int kInf = 0x7F80;
  EXPECT_EQ(bits(0x7E92, 15, Int4Order::kNorm), 0x7F80U) << "7 · 146 · 2^119 is beyond";
  EXPECT_EQ(bits(0x7E12, 15, Int4Order::kTruncate), 0x7F7FU) << "7 · 146 · 2^118 is cut";
  EXPECT_EQ(bits(kLargest, 0, Int4Order::kTruncate), 0xFF80U) << "beyond F32";
  for (int code = 0; code < 16; ++code) {
    EXPECT_EQ(bits(kInf, code, Int4Order::kFma), 0x7FC0U) << "Inf - Inf";
    EXPECT_EQ(bits(kInf, code, Int4Order::kTwoRoundings), 0x7FC0U) << "Inf - Inf, or 0 · Inf";
    EXPECT_EQ(bits(0x7FC0, code, Int4Order::kTwosComplement), 0x7FC0U);
  }
  EXPECT_EQ(bits(kLargest, 15, Int4Order::kFma), 0xFF80U) << "the bias overflows alone";
  EXPECT_EQ(bits(0x8000, 8, Int4Order::kFma), 0x0000U) << "a zero sum is +0";
  EXPECT_EQ(bits(0x8000, 8, Int4Order::kTwoRoundings), 0x0000U);
  EXPECT_EQ(bits(0x7780, 9, Int4Order::kF16Multiply), 0x7F80U) << "2^112 is no F16";
  EXPECT_EQ(bits(0x7780, 8, Int4Order::kF16Multiply), 0x7FC0U);
  EXPECT_EQ(bits(0x3F80, 7, Int4Order::kZeroPoint7), 0x0000U);
  EXPECT_EQ(bits(0x3F80, 15, Int4Order::kTwosComplement), 0xBF80U);
}

// INT-10: an infinite scale multiplies each weight, or the sum of a group.
TEST(Int4Orders, InfiniteScaleOnTheAccumulator) {
  const Int4Term late = term(0x7F80, 8, Int4Order::kAccumulatorScale);
  EXPECT_TRUE(late.weight.is_zero());
  EXPECT_EQ(late.group_factor.cls, ValueClass::kInf);
  const Int4Term early = term(0x7F80, 8, Int4Order::kExactW);
  EXPECT_EQ(early.weight.cls, ValueClass::kNan);
  EXPECT_EQ(early.group_factor.significand, 1U);
}

TEST(Int4Orders, Names) {
  ASSERT_EQ(int4_orders().size(), 11U);
  for (const Int4OrderInfo& info : int4_orders()) {
    EXPECT_EQ(name_of(info.order), info.name);
    EXPECT_EQ(parse_int4_order(info.name).value(), info.order);
  }
  const auto unknown = parse_int4_order("fused");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().message(),
            "dequant: value fused: INT-9: the orders are norm, fma, two_roundings, truncate, ties_away, "
            "f32_scale, f16_multiply, zero_point_7, twos_complement, accumulator_scale, exactw");
}

}  // namespace
}  // namespace moe4::test
