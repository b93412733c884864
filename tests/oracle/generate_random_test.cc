// DATA-1 … DATA-4 against numbers worked out from the rules by hand and by another program.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "oracle/generate/quantised_row.h"
#include "oracle/generate/random.h"

namespace moe4::oracle {
namespace {

TEST(Random, WordsAreThoseOfTheRule) {
  // From seed s, coordinate n gives output n + 1 of splitmix64 started at mix(s): a published generator.
  EXPECT_EQ(Key::from_seed(0).word(), 0u);
  EXPECT_EQ(Key::from_seed(0)(0).word(), 0xE220A8397B1DCDAFu);
  EXPECT_EQ(Key::from_seed(0)(1).word(), 0x6E789E6AA1B965F4u);
  EXPECT_EQ(Key::from_seed(0)(2).word(), 0x06C45D188009454Fu);
}

TEST(Random, CoordinatesDoNotCommute) {
  const Key root = Key::from_seed(7);
  EXPECT_NE(root(1)(2).word(), root(2)(1).word());
  EXPECT_NE(root(0)(0).word(), root(0).word());
  EXPECT_NE(Key::from_seed(7)(1).word(), Key::from_seed(8)(1).word());
}

TEST(Random, PickIsUniform) {
  std::array<int, 10> counts{};
  for (int n = 0; n < 10000; ++n) ++counts[static_cast<std::size_t>(Key::from_seed(1)(n).pick(10))];
  for (const int count : counts) EXPECT_NEAR(count, 1000, 150);
}

TEST(Random, GaussiansHaveTheirMoments) {
  double sum = 0, square = 0, fourth = 0;
  double bytes = 0, bytes_square = 0;
  constexpr int kDraws = 100000;
  for (int n = 0; n < kDraws; ++n) {
    const double x = std::ldexp(static_cast<double>(gaussian_q32(Key::from_seed(2)(n))), -32);
    sum += x;
    square += x * x;
    fourth += x * x * x * x;
    const double b = gaussian_bytes(Key::from_seed(3)(n).word());
    bytes += b;
    bytes_square += b * b;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.02);
  EXPECT_NEAR(square / kDraws, 1, 0.02);
  EXPECT_NEAR(fourth / kDraws, 2.9, 0.1);  // 3 - 6/60 for a sum of twelve uniforms
  EXPECT_NEAR(bytes / kDraws, 0, 3);
  EXPECT_NEAR(std::sqrt(bytes_square / kDraws), 209, 2);
}

TEST(Random, GaussianBytesIsTheSumOfBytes) {
  EXPECT_EQ(gaussian_bytes(0), -1020);
  EXPECT_EQ(gaussian_bytes(~std::uint64_t{0}), 1020);
  EXPECT_EQ(gaussian_bytes(0x0102030405060708u), 36 - 1020);
}

TEST(QuantisedRow, FloorRuleWithTiesToTheEvenCode) {
  // Largest 8·2^k: scale 2·2^k, so |v|/scale runs over the thresholds 0.25 … 5 as v runs over halves and odd
  // numbers.
  std::array<std::int32_t, kGroupSize> values{};
  const std::array<std::int32_t, 16> v = {8, 1, 2, 3, 4, 5, 6, 7, 10, 12, 14, 15, -1, -5, 0, 9};
  std::copy(v.begin(), v.end(), values.begin());
  values[16] = 15;
  std::array<std::uint8_t, kGroupSize> codes{};
  const std::uint8_t scale = quantise_group(values, -3, codes);
  EXPECT_EQ(scale, 127 + 3 - 2 - 3);  // largest 15: floor(log2) = 3
  // |v|/2:            4  .5  1  1.5 2  2.5 3  3.5 5  6  7  7.5 -.5 -2.5 0 4.5
  const std::array<int, 16> due = {6, 1, 2, 3, 4, 4, 5, 6, 6, 7, 7, 7, 9, 12, 0, 6};
  for (std::size_t n = 0; n < due.size(); ++n) EXPECT_EQ(codes[n], due[n]) << v[n];
}

}  // namespace
}  // namespace moe4::oracle
