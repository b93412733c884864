// The values before the rounding: sums that can be moved by a double and rounded into any dtype, and single
// slots.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "reference/linear/exact_output.h"
#include "tests/reference/problem.h"

namespace moe4::test {
namespace {

// d_0 = 32 · 2 (expert 1), d_1 = 32 / 2 (expert 0); y = 3 - 0.5·64 + 4·16 = 35.
Problem two_slots() {
  Problem problem({.tokens = 2, .experts = 2, .out = 3, .top_k = 2});
  for (int o = 0; o < 3; ++o) problem.scale(0, o, 0, 126).scale(1, o, 0, 128);
  return problem.ids({0, 0, 1, 0}).p({1, 1, -0.5, 4}).shared({0, 0, 0, 1, 3, 2});
}

TEST(ExactOutput, SlotsAndDots) {
  const Problem problem = two_slots();
  const auto linear = ExactLinear::create(problem.inputs(), {});
  ASSERT_TRUE(linear.ok());
  EXPECT_EQ(linear->dims().out, 3);
  EXPECT_EQ(linear->output_dtype(), Dtype::kBF16);
  const ExactToken token = linear->token(1);
  ASSERT_EQ(token.slots().size(), 2U);
  EXPECT_EQ(token.slots()[0].expert, 1);
  EXPECT_EQ(token.slots()[1].j, 1);
  EXPECT_EQ(token.x().size(), 32U);
  EXPECT_EQ(token.dot(token.slots()[0], 1).round(kF64), std::bit_cast<std::uint64_t>(64.0));
  EXPECT_EQ(token.dot(token.slots()[1], 1).round(kF64), std::bit_cast<std::uint64_t>(16.0));
  EXPECT_EQ(token.output(1).round(Dtype::kF64), std::bit_cast<std::uint64_t>(35.0));
  EXPECT_EQ(token.output(0).round(Dtype::kF32), std::bit_cast<std::uint32_t>(33.0F));
}

TEST(ExactOutput, RefusesWhatTheLinearRefuses) {
  Problem problem = two_slots();
  problem.ids({0, 0, 2, 0});
  const auto linear = ExactLinear::create(problem.inputs(), {});
  ASSERT_FALSE(linear.ok());
  EXPECT_EQ(linear.error(), problem.run().error());
}

TEST(ExactOutput, AgreesWithTheLinear) {
  const Problem problem = two_slots();
  const auto linear = ExactLinear::create(problem.inputs(), {});
  const Result<Tensor> output = problem.run();
  for (int t = 0; t < 2; ++t) {
    for (int o = 0; o < 3; ++o) {
      EXPECT_EQ(linear->token(t).output(o).round(Dtype::kBF16), bits_at(*output, 3 * t + o));
    }
  }
}

TEST(ExactOutput, DoublesMoveItExactly) {
  const Problem problem = two_slots();
  ExactOutput y = ExactLinear::create(problem.inputs(), {})->token(1).output(1);
  y.add_double(1e300);
  y.add_double(0x1p-1074);
  y.add_double(-1e300);
  EXPECT_EQ(y.round(Dtype::kF64), std::bit_cast<std::uint64_t>(35.0));
  y.add_double(-35);
  EXPECT_EQ(y.round(Dtype::kF64), std::bit_cast<std::uint64_t>(0x1p-1074)) << "what is left is exact";
  EXPECT_FALSE(y.is_zero());
  y.add_double(-0x1p-1074);
  EXPECT_TRUE(y.is_zero());
  y.add_double(std::numeric_limits<double>::max());
  EXPECT_EQ(y.round(Dtype::kF32), encode(Dtype::kF32, HUGE_VAL));
  y.add_double(-HUGE_VAL);
  EXPECT_EQ(y.cls(), SumClass::kMinusInf);
  EXPECT_TRUE(y.is_negative());
}

TEST(ExactOutput, ZeroKeepsItsSignUntilItIsMoved) {
  Problem problem({.top_k = 0});
  problem.shared({-0.0});
  ExactOutput y = ExactLinear::create(problem.inputs(), {})->token(0).output(0);
  EXPECT_EQ(y.round(Dtype::kBF16), 0x8000U);
  y.add_double(0.0);
  y.add_double(-0.0);
  EXPECT_EQ(y.round(Dtype::kBF16), 0x8000U);
  y.add_double(1.0);
  y.add_double(-1.0);
  EXPECT_EQ(y.round(Dtype::kBF16), 0U);
}

TEST(ExactOutput, Classes) {
  Problem problem({.tokens = 4});
  problem.x(0, 0, HUGE_VAL).x(1, 0, -HUGE_VAL).x(2, 0, std::nan(""));
  const auto linear = ExactLinear::create(problem.inputs(), {});
  EXPECT_EQ(linear->token(0).output(0).cls(), SumClass::kPlusInf);
  EXPECT_EQ(linear->token(1).output(0).cls(), SumClass::kMinusInf);
  EXPECT_EQ(linear->token(2).output(0).cls(), SumClass::kNan);
  EXPECT_EQ(linear->token(3).output(0).cls(), SumClass::kFinite);
  EXPECT_EQ(linear->token(1).dot(linear->token(1).slots()[0], 0).cls(), SumClass::kMinusInf);
}

}  // namespace
}  // namespace moe4::test
