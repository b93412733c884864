// INT-1 to INT-5: codes, packing, and the weight of every code with every scale.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>

#include "reference/formats/packed_words.h"
#include "reference/linear/int4_weight.h"

namespace moe4::test {
namespace {

std::uint16_t weight(int code, int scale) {
  return int4_weight(Int4Bits{static_cast<std::uint8_t>(code)}, BF16Bits{static_cast<std::uint16_t>(scale)})
      .bits;
}

// Without reference/: the product of a code and a BF16 number has at most 11 bits, so it is exact in F32
// unless it overflows; the upper half is then rounded to even by an addition.
std::uint16_t weight_by_f32(int code, int scale) {
  const auto s = std::bit_cast<float>(static_cast<std::uint32_t>(scale) << 16);
  const float exact = static_cast<float>(code - 8) * s;
  const auto bits = std::bit_cast<std::uint32_t>(exact);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return 0x7FC0;
  return static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

TEST(Int4Weight, EveryCodeWithEveryScale) {
  int inexact = 0;
  for (int scale = 0; scale < 0x10000; ++scale) {
    for (int code = 0; code < 16; ++code) {
      ASSERT_EQ(weight(code, scale), weight_by_f32(code, scale)) << std::hex << scale << " code " << code;
      const auto s = std::bit_cast<float>(static_cast<std::uint32_t>(scale) << 16);
      const auto w = std::bit_cast<float>(static_cast<std::uint32_t>(weight(code, scale)) << 16);
      inexact += (scale >> 7) == 0x7F && w != static_cast<float>(code - 8) * s ? 1 : 0;
    }
  }
  EXPECT_EQ(inexact, 764) << "of the 2048 pairs of a mantissa and a code";
}

TEST(Int4Weight, SignOfZero) {
  EXPECT_EQ(weight(8, 0x3F80), 0x0000);
  EXPECT_EQ(weight(8, 0xBF80), 0x8000);
  EXPECT_EQ(weight(8, 0x8000), 0x8000);
  EXPECT_EQ(weight(0, 0x0000), 0x8000);
  EXPECT_EQ(weight(0, 0x8000), 0x0000);
  EXPECT_EQ(weight(15, 0x8000), 0x8000);
}

TEST(Int4Weight, NonFinite) {
  for (const int nan : {0x7F81, 0x7FC0, 0xFFFF}) {
    for (int code = 0; code < 16; ++code) EXPECT_EQ(weight(code, nan), 0x7FC0);
  }
  EXPECT_EQ(weight(8, 0x7F80), 0x7FC0) << "0 · Inf";
  EXPECT_EQ(weight(8, 0xFF80), 0x7FC0);
  EXPECT_EQ(weight(9, 0x7F80), 0x7F80);
  EXPECT_EQ(weight(7, 0x7F80), 0xFF80);
  EXPECT_EQ(weight(7, 0xFF80), 0x7F80);
}

TEST(Int4Weight, OverflowAndSubnormals) {
  EXPECT_EQ(weight(10, 0x7F00), 0x7F80) << "2 · 2^127";
  EXPECT_EQ(weight(0, 0x7E00), 0xFF80) << "-8 · 2^125";
  EXPECT_EQ(weight(9, 0x7F7F), 0x7F7F) << "the largest stays";
  EXPECT_EQ(weight(15, 0x7E12), 0x7F80) << "7 · 146·2^118 = 2^128 - 2^119 ... to the nearest";
  EXPECT_EQ(weight(15, 0x0001), 0x0007);
  EXPECT_EQ(weight(0, 0x0001), 0x8008);
  EXPECT_EQ(weight(0, 0x007F), 0x81FE) << "-8 · 127·2^-133";
}

TEST(Int4Weight, TableOfAGroup) {
  const auto table = weights_of_group(BF16Bits{0x3BA4});
  for (int code = 0; code < 16; ++code) {
    const ExactValue expected = decode(BF16Bits{weight(code, 0x3BA4)});
    EXPECT_EQ(table[code].significand, expected.significand);
    EXPECT_EQ(table[code].exponent, expected.exponent);
    EXPECT_EQ(table[code].negative, code < 8);
  }
}

TEST(Int4Codes, WordsLowestNibbleFirst) {
  const int codes[] = {5, 5, 14, 7, 15, 0, 9, 8};
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(code_in_word(0x890F7E55, i).bits, codes[i % 8]);
    EXPECT_EQ(word_of_element(i), i / 8);
  }
  for (std::uint8_t code = 0; code < 16; ++code) {
    const ExactValue q = decode(Int4Bits{code});
    const auto magnitude = static_cast<int>(q.significand);
    EXPECT_EQ(q.exponent, 0);
    EXPECT_EQ(q.negative ? -magnitude : magnitude, code - 8);
  }
  EXPECT_FALSE(decode(Int4Bits{8}).negative);
}

}  // namespace
}  // namespace moe4::test
