#include "tests/support/slow_model/expert_linear.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <random>

#include "tests/support/problems/build_problem.h"

namespace slow_model {
namespace {

using problems::bits_of;
using problems::plain_problem;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(SlowExpertLinear, OneGroupOfOnes) {
  EXPECT_EQ(expert_linear(plain_problem({})), std::vector<std::uint64_t>{bits_of(kBf16, 32.0)});
}

// Two experts: 32 weights of 1 at scale 2 against tokens of 3, and 32 weights of -1.5 at scale 1/4.
//   d_0 = 32 * 2 * 3 = 192, d_1 = 32 * -0.375 * 3 = -36
//   y = 7 + 0.25 * 192 + 0.75 * -36 = 7 + 48 - 27 = 28
TEST(SlowExpertLinear, TwoExperts) {
  Problem problem = plain_problem({.experts = 2, .top_k = 2}, kF32);
  problems::set_tokens(problem, 3.0);
  problems::set_group(problem, 1, 0, 0, 11);
  problems::set_scale(problem, 0, 0, 0, 128);
  problems::set_scale(problem, 1, 0, 0, 125);
  problems::set_p(problem, kF64, {0.25, 0.75});
  problems::set_shared(problem, kBf16, {7.0});
  EXPECT_EQ(expert_linear(problem), std::vector<std::uint64_t>{bits_of(kF32, 28.0)});
}

// Expert 1 of 2, two groups, two outputs; tokens 2 in group 0 and 5 in group 1; p = 0.5.
//   o = 0: codes 3 (1.5) at scale 4, codes 6 (4) at scale 1/2:   32 * 6 * 2 + 32 * 2 * 5 = 384 + 320 = 704
//   o = 1: codes 13 (-3) at scale 8, codes 1 (0.5) at scale 16: 32 * -24 * 2 + 32 * 8 * 5 = -1536 + 1280 =
//   -256 y = [11 + 352, -9 - 128] = [363, -137]
TEST(SlowExpertLinear, TwoGroupsTwoOutputs) {
  Problem problem = plain_problem({.experts = 2, .in = 64, .out = 2}, kF64);
  problem.selected_experts = {1};
  for (std::int64_t i = 0; i < 64; ++i) {
    problems::set_token(problem, 0, i, i < 32 ? 2.0 : 5.0);
  }
  problems::set_group(problem, 1, 0, 0, 3);
  problems::set_group(problem, 1, 0, 1, 6);
  problems::set_group(problem, 1, 1, 0, 13);
  problems::set_group(problem, 1, 1, 1, 1);
  problems::set_scale(problem, 1, 0, 0, 129);
  problems::set_scale(problem, 1, 0, 1, 126);
  problems::set_scale(problem, 1, 1, 0, 130);
  problems::set_scale(problem, 1, 1, 1, 131);
  problems::set_p(problem, kF16, {0.5});
  problems::set_shared(problem, kF32, {11.0, -9.0});
  EXPECT_EQ(expert_linear(problem),
            (std::vector<std::uint64_t>{bits_of(kF64, 363.0), bits_of(kF64, -137.0)}));
}

// In a narrow range the whole sum fits a machine integer, and the machine's conversion rounds it.
TEST(SlowExpertLinear, AgreesWithIntegersInANarrowRange) {
  std::mt19937_64 engine(6);
  const int halves[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  for (int round = 0; round < 500; ++round) {
    Problem problem = plain_problem({.tokens = 2, .experts = 3, .in = 64, .out = 2, .top_k = 3}, kF32);
    std::vector<std::int64_t> x(128), p(6), s(4);
    std::vector<int> code(3 * 2 * 64), exponent(3 * 2 * 2);
    for (std::size_t n = 0; n < x.size(); ++n) {
      x[n] = static_cast<std::int64_t>(engine() % 4095) - 2047;
      problem.latent_tokens.bits[n] = bits_of(kF32, static_cast<double>(x[n]));
    }
    for (std::size_t n = 0; n < p.size(); ++n) {
      p[n] = static_cast<std::int64_t>(engine() % 255) - 127;
      problem.mixture_weights.bits[n] = bits_of(kF32, static_cast<double>(p[n]));
      problem.selected_experts[n] = static_cast<std::int64_t>(engine() % 3);
    }
    for (std::size_t n = 0; n < s.size(); ++n) {
      s[n] = static_cast<std::int64_t>(engine() % 0xFFFFFF) - 0x7FFFFF;
      problem.shared_output.bits[n] = bits_of(kF32, static_cast<double>(s[n]));
    }
    for (std::size_t n = 0; n < code.size(); ++n) {
      code[n] = static_cast<int>(engine() % 16);
      const auto row = static_cast<std::int64_t>(n / 64);
      problems::set_code(problem, row / 2, row % 2, static_cast<std::int64_t>(n % 64), code[n]);
    }
    for (std::size_t n = 0; n < exponent.size(); ++n) {
      exponent[n] = 1 + static_cast<int>(engine() % 5);
      problem.scale_bytes[n] = static_cast<std::uint8_t>(127 + exponent[n]);
    }
    const std::vector<std::uint64_t> slow = expert_linear(problem);
    for (std::size_t t = 0; t < 2; ++t) {
      for (std::size_t o = 0; o < 2; ++o) {
        std::int64_t sum = s[t * 2 + o];
        for (std::size_t j = 0; j < 3; ++j) {
          const auto row = static_cast<std::size_t>(problem.selected_experts[t * 3 + j]) * 2 + o;
          for (std::size_t i = 0; i < 64; ++i) {
            const std::int64_t w = std::int64_t{halves[code[row * 64 + i]]}
                                   << (exponent[row * 2 + i / 32] - 1);
            sum += p[t * 3 + j] * w * x[t * 64 + i];
          }
        }
        const float expected = static_cast<float>(sum);
        ASSERT_EQ(slow[t * 2 + o], std::bit_cast<std::uint32_t>(expected)) << "sum " << sum;
      }
    }
  }
}

TEST(SlowExpertLinear, SignsOfZero) {
  Problem problem = plain_problem({.out = 2});
  problems::set_codes(problem, 8);
  problems::set_shared(problem, kF32, {-0.0, 0.0});
  EXPECT_EQ(expert_linear(problem), (std::vector<std::uint64_t>{0, 0}));  // COR-7

  problem.selected_experts = {-1};
  problem.policy.ids = Ids::kAbsent;
  EXPECT_EQ(expert_linear(problem), (std::vector<std::uint64_t>{0x8000, 0}));  // LIN-7

  problem.selected_experts = {0};
  problems::set_p(problem, kF32, {-0.0});
  EXPECT_EQ(expert_linear(problem), (std::vector<std::uint64_t>{0, 0}));
  problem.policy.skip_zero_p = SkipZeroP::kYes;
  EXPECT_EQ(expert_linear(problem), (std::vector<std::uint64_t>{0x8000, 0}));  // COR-6

  problems::set_shared(problem, kF32, {-0x1p-149, 0x1p-149});  // far below BF16's half subnormal
  EXPECT_EQ(expert_linear(problem), (std::vector<std::uint64_t>{0x8000, 0}));
}

TEST(SlowExpertLinear, AnInfinitePTakesTheSignOfTheExactDot) {
  Problem problem = plain_problem({});
  problems::set_p(problem, kF32, {-kInfinity});
  EXPECT_EQ(expert_linear(problem), std::vector<std::uint64_t>{0xFF80});
  problems::set_code(problem, 0, 0, 31, 0);
  for (std::int64_t i = 0; i < 31; i += 2) {
    problems::set_code(problem, 0, 0, i, 10);
  }  // 16 weights of -1, 15 of +1, one 0: d = -1
  EXPECT_EQ(expert_linear(problem), std::vector<std::uint64_t>{0x7F80});
  problems::set_code(problem, 0, 0, 31, 2);  // d = 0
  EXPECT_EQ(expert_linear(problem), std::vector<std::uint64_t>{0x7FC0});
}

TEST(SlowExpertLinear, NonFiniteOperands) {
  Problem problem = plain_problem({.tokens = 3});
  problems::set_token(problem, 0, 5, kNan);
  problems::set_token(problem, 1, 5, -kInfinity);
  EXPECT_EQ(expert_linear(problem), (std::vector<std::uint64_t>{0x7FC0, 0xFF80, bits_of(kBf16, 32.0)}));
  problems::set_token(problem, 1, 6, kInfinity);
  EXPECT_EQ(expert_linear(problem)[1], 0x7FC0u);  // +Inf - Inf
  problems::set_token(problem, 1, 6, 1.0);
  problems::set_code(problem, 0, 0, 5, 8);
  EXPECT_EQ(expert_linear(problem)[1], 0x7FC0u);  // -0 * -Inf
  problems::set_shared(problem, kF64, {0.0, 0.0, kInfinity});
  EXPECT_EQ(expert_linear(problem)[2], 0x7F80u);
}

TEST(SlowExpertLinear, EmptyShapes) {
  EXPECT_TRUE(expert_linear(plain_problem({.tokens = 0})).empty());
  EXPECT_TRUE(expert_linear(plain_problem({.out = 0})).empty());
  Problem problem = plain_problem({.top_k = 0});
  problems::set_shared(problem, kF32, {0x1.01p0});  // half way between 0x3F80 and 0x3F81
  EXPECT_EQ(expert_linear(problem), std::vector<std::uint64_t>{0x3F80});
}

TEST(SlowExpertLinear, SameValueIsStrictOnZeroAndLaxOnNan) {
  EXPECT_TRUE(same_value(kBf16, 0x7FC0, 0xFF81));
  EXPECT_FALSE(same_value(kBf16, 0x7F80, 0x7F81));
  EXPECT_FALSE(same_value(kBf16, 0x0000, 0x8000));
  EXPECT_FALSE(same_value(kF32, 0x3F800000, 0x3F800001));
}

}  // namespace
}  // namespace slow_model
