#include "tests/support/slow_model/int4.h"

#include <gtest/gtest.h>

#include <string>

namespace slow_model {
namespace {

std::uint64_t weight(Int4Order order, int code, std::uint64_t scale) {
  return round_to(kBf16, int4_term(order, code, short_value_of(kBf16, scale)).weight);
}

// The word and the codes of INT-2.
TEST(SlowInt4, LowNibbleFirst) {
  const std::uint32_t row[] = {0x890F7E55, 0x12345678};
  const int codes[] = {5, 5, 14, 7, 15, 0, 9, 8, 8, 7, 6, 5, 4, 3, 2, 1};
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(int4_code_at(row, i), codes[i]) << i;
  }
}

// The examples of INT-9, each with the norm's value beside it.
TEST(SlowInt4, TheExamplesOfTheOrders) {
  struct Example {
    Int4Order order;
    std::uint64_t scale;
    int code;
    std::uint64_t norm;
    std::uint64_t value;
  };
  const Example examples[] = {
      {Int4Order::kFma, 0x3BA4, 0, 0xBD24, 0xBD20},
      {Int4Order::kTwoRoundings, 0x3BA4, 7, 0xBBA4, 0xBBA0},
      {Int4Order::kTruncate, 0x3BA4, 1, 0xBD10, 0xBD0F},
      {Int4Order::kTiesAway, 0x3BA7, 2, 0xBCFA, 0xBCFB},
      {Int4Order::kF16Multiply, 0x3401, 0, 0xB581, 0xB580},
      {Int4Order::kZeroPoint7, 0x3BA4, 0, 0xBD24, 0xBD10},
      {Int4Order::kTwosComplement, 0x3BA4, 0, 0xBD24, 0x0000},
  };
  for (const Example& example : examples) {
    EXPECT_EQ(int4_weight(example.code, example.scale), example.norm) << example.code;
    EXPECT_EQ(weight(Int4Order::kNorm, example.code, example.scale), example.norm) << example.code;
    EXPECT_EQ(weight(example.order, example.code, example.scale), example.value) << example.code;
  }
  EXPECT_EQ(int4_weight(1, 0x3C4A), 0xBDB1u);
  const ShortNumber scale = short_value_of(kF32, 0x3C4985F0);
  EXPECT_EQ(round_to(kBf16, int4_term(Int4Order::kF32Scale, 1, scale).weight), 0xBDB0u);
}

// The last two rows of INT-9: one token 3, the output rounded once.
TEST(SlowInt4, UnroundedWeights) {
  const ShortNumber x = ShortNumber::integer(3);
  EXPECT_EQ(round_to(kBf16, short_value_of(kBf16, int4_weight(1, 0x3BA4)) * x), 0xBDD8u);
  for (const Int4Order order : {Int4Order::kAccumulatorScale, Int4Order::kExactW}) {
    const Int4Term term = int4_term(order, 1, short_value_of(kBf16, 0x3BA4));
    EXPECT_EQ(round_to(kBf16, term.weight * x * term.factor), 0xBDD7u);
  }
}

// INT-5 and the overflow of INT-4.
TEST(SlowInt4, Corners) {
  for (int code = 0; code < 16; ++code) {
    EXPECT_EQ(int4_weight(code, 0xFFC1), 0x7FC0u);
    const std::uint64_t infinity = code < 8 ? 0xFF80 : 0x7F80;
    EXPECT_EQ(int4_weight(code, 0x7F80), code == 8 ? 0x7FC0u : infinity);
    EXPECT_EQ(int4_weight(code, 0x0000), code < 8 ? 0x8000u : 0x0000u);
    EXPECT_EQ(int4_weight(code, 0x8000), code < 8 ? 0x0000u : 0x8000u);
  }
  EXPECT_EQ(int4_weight(8, 0xBF80), 0x8000u);
  EXPECT_EQ(int4_weight(15, 0x7F7F), 0x7F80u);
  EXPECT_EQ(int4_weight(0, 0x7DFF), 0xFF7Fu);  // the largest BF16
  EXPECT_EQ(int4_weight(0, 0x7E00), 0xFF80u);
  EXPECT_EQ(int4_weight(15, 0x0001), 0x0007u);
}

// The two roundings of the slow model: by division here, by search on the grid in float_format.h.
TEST(ShortNumbers, RoundLikeTheSearch) {
  std::uint64_t state = 1;
  const auto next = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 16;
  };
  for (int n = 0; n < 20000; ++n) {
    const FloatFormat& format = kFloatFormats[n % 4];
    const std::uint64_t point = next() % format.infinity();
    const long place = static_cast<long>(next() % 70) - 64;
    ShortNumber number = short_value_of(format, n % 3 == 0 ? point % 9 : point);
    if (n % 2 == 0 && format.mantissa_bits < 50) {  // a tie, or beside one
      number.magnitude = 8 * number.magnitude + 3 + next() % 3;
      number.exponent -= 3;
    } else if (n % 4 == 1) {
      number.magnitude = next() << (next() % 17);
      number.exponent += place;
    }
    number.negative = next() % 2 == 0;
    if (number.is_zero()) continue;
    ASSERT_EQ(round_to(format, number), round_to_nearest_even(format, extended(number).value))
        << format.name << " " << number.magnitude << " * 2^" << number.exponent;
    const std::uint64_t below = last_grid_point_not_above(format, extended(number).value);
    ASSERT_EQ(round_to(format, number, Rounding::kTowardZero) & ~format.sign_bit(), below);
  }
}

}  // namespace
}  // namespace slow_model
