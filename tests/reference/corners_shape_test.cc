// COR and LIN: slots, shapes, dtypes and the one rounding, by their right values under the norm and every
// policy. Scales, zeros and non-finite numbers are in corners_value_test.cc.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/reference/problem.h"

namespace moe4::test {
namespace {

const double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();
const std::vector<Dtype> kFloats = {Dtype::kBF16, Dtype::kF16, Dtype::kF32, Dtype::kF64};

Policy policy(const std::string& text) { return parse_policy(text).value(); }

Problem under(const std::string& text, Problem problem) {
  problem.policy = policy(text);
  return problem;
}

// Slots.

TEST(Corners, AZeroWeightIsAFactorLikeAnyOther) {
  Problem problem({.experts = 2, .top_k = 2});
  problem.ids({0, 1}).p({0, 1}).scale(0, 0, 0, 255);
  expect_output(problem, kNan, "0 · NaN");
  expect_output(under("skip_zero_p=yes", problem), 32);
  problem.p({-0.0, 1});
  expect_output(under("skip_zero_p=yes", problem), 32);
  problem.p({0x1p-149, 1});
  expect_output(under("skip_zero_p=yes", problem), kNan, "the smallest p is not zero");
}

TEST(Corners, EveryOccurrenceOfAnExpertCounts) {
  Problem problem({.experts = 2, .top_k = 3});
  expect_output(problem.ids({1, 1, 1}).p({0.5, 0.25, 1}), 56, "32 · 1.75");
}

TEST(Corners, WeightsAreNeverNormalised) {
  expect_output(Problem({.top_k = 2}).p({3, 2}), 160);
  expect_output(Problem({.top_k = 2}).p({-3, 2}), -32);
  expect_output(Problem({.top_k = 2}).p({0, 0}).shared({5}), 5);
}

TEST(Corners, AbsentSlots) {
  Problem problem({.tokens = 2, .experts = 2, .top_k = 2});
  problem.ids({-1, 1, 0, -1}).p({kNan, 2, 4, kInf}).shared({1, 2}).scale(0, 0, 0, 128);
  expect_outputs(under("ids=absent", problem), {65, 258},
                 "p of an absent slot is not looked at; 2·32 + 1, 4·64 + 2");
  EXPECT_FALSE(problem.run().ok()) << "the default refuses -1";
  problem.ids({-2, 1, 0, -1});
  EXPECT_FALSE(under("ids=absent", problem).run().ok()) << "-2 is refused under any policy";
  EXPECT_FALSE(under("ids=absent", problem.ids({2, 1, 0, -1})).run().ok());
}

// Shapes.

TEST(Corners, EmptyResults) {
  for (const Dtype dtype : kFloats) {
    const Result<Tensor> no_tokens = Problem({.tokens = 0, .out = 4}, {.x = dtype}).run();
    ASSERT_TRUE(no_tokens.ok());
    EXPECT_EQ(no_tokens->shape(), (Shape{0, 4}));
    EXPECT_EQ(no_tokens->dtype(), dtype);
    const Result<Tensor> no_outputs = Problem({.tokens = 3, .out = 0}, {.x = dtype}).run();
    ASSERT_TRUE(no_outputs.ok());
    EXPECT_EQ(no_outputs->shape(), (Shape{3, 0}));
  }
  EXPECT_TRUE(Problem({.tokens = 0, .experts = 0}).run().ok()) << "nobody needs an expert";
  EXPECT_TRUE(Problem({.tokens = 2, .experts = 0, .top_k = 0}).run().ok());
  EXPECT_FALSE(Problem({.in = 0}).run().ok()) << "I = 0 is refused (VAL-3)";
}

TEST(Corners, WithoutSlotsTheResultIsSharedRounded) {
  Problem problem({.tokens = 1, .out = 3, .top_k = 0}, {.x = Dtype::kBF16, .s = Dtype::kF32});
  problem.shared({257, 259, 0x1.fffffep127});
  expect_outputs(problem, {256, 260, kInf}, "ties to even; above the largest BF16 + half an ulp");
}

// One rounding, whatever the dtypes.

// 256 + 1 is a tie in BF16; a last term of 2^-261 decides it. Any rounding on the way loses that term.
TEST(Corners, OneRoundingToBF16) {
  Problem with_one({.in = 64, .out = 1});
  with_one.code(0).code(0, 0, 0, 1).scale(0, 0, 0, 0).x(0, 0, 0x1p-133);
  with_one.code(0, 0, 32, 2).x(0, 32, 1).shared({256});
  expect_output(with_one, 258, "256 + 1 + 2^-261");
  with_one.code(0, 0, 0, 9);
  expect_output(with_one, 256, "256 + 1 - 2^-261");
  with_one.x(0, 0, 0);
  expect_output(with_one, 256, "256 + 1: the tie goes to even");
}

TEST(Corners, OneRoundingInEveryDtype) {
  const int mantissa_bits[4] = {7, 10, 23, 52};
  for (int index = 0; index < 4; ++index) {
    // 1 + half an ulp + d, with d from a second slot.
    const double half = std::ldexp(1.0, -mantissa_bits[index] - 1);
    Problem problem({.top_k = 2}, {.x = kFloats[index], .p = Dtype::kF64, .s = Dtype::kF64});
    problem.code(0).code(0, 0, 0, 2);
    for (const double tiny : {0x1p-1074, -0x1p-1074, 0.0}) {
      for (const double sign : {1.0, -1.0}) {
        problem.p({sign * half, sign * tiny}).shared({sign});
        expect_output(problem, sign * (tiny > 0 ? 1 + 2 * half : 1));
        problem.p({sign * 3 * half, sign * tiny});
        expect_output(problem, sign * (tiny >= 0 ? 1 + 4 * half : 1 + 2 * half));
      }
    }
  }
}

TEST(Corners, OverflowExactlyAtTheThreshold) {
  // F16: 65504 + 16 = 65520 is the first overflow; one F32 ulp less is not.
  Problem half({}, {.x = Dtype::kF16, .p = Dtype::kF32, .s = Dtype::kF32});
  half.code(0).code(0, 0, 0, 2);
  expect_output(half.p({16}).shared({65504}), kInf);
  expect_output(half.p({16}).shared({65503.99609375}), 65504);
  expect_output(half.p({-16}).shared({-65504}), -kInf);
  // A sum beyond 65504 on the way is no overflow: 30 · 65504 / 32 = 61410, on the grid of 32 it is 61408.
  expect_output(Problem({}, {.x = Dtype::kF16}).x(65504).x(0, 0, -65504.0).p({0x1p-5}), 61408);
}

TEST(Corners, SubnormalResultsAreKept) {
  for (int index = 0; index < 4; ++index) {
    const int lsb[4] = {-133, -24, -149, -1074};
    Problem problem({}, {.x = kFloats[index], .p = Dtype::kF64});
    problem.code(0).code(0, 0, 0, 2);
    const double smallest = std::ldexp(1.0, lsb[index]);
    expect_output(problem.p({smallest}), smallest);
    expect_output(problem.p({smallest * 3}), smallest * 3);
    problem.code(0, 0, 0, 1);
    expect_output(problem.p({smallest}), 0, "half of the smallest is a tie with 0");
    expect_output(problem.p({smallest * 3}), smallest * 2);
    expect_output(problem.p({-smallest}), -0.0);
  }
}

// p and shared count with their stored value, whatever their dtype; the result has the dtype of the tokens.
TEST(Corners, MixedDtypes) {
  for (const Dtype x : kFloats) {
    for (const Dtype p : kFloats) {
      for (const Dtype s : kFloats) {
        for (const Dtype id : {Dtype::kI32, Dtype::kI64}) {
          Problem problem({.tokens = 2, .experts = 3, .top_k = 2}, {x, p, s, id});
          problem.ids({2, 0, 1, 2}).p({0.75, -0.5, 1.25, 3}).shared({0.5, -1});
          problem.scale(1, 0, 0, 128).scale(2, 0, 0, 126);
          // d = 32, 64, 16 for the experts 0, 1, 2.
          expect_outputs(problem, {0.5 + 12 - 16, -1 + 80 + 48});
        }
      }
    }
  }
}

// A p or shared of higher precision than the tokens is not narrowed first.
TEST(Corners, WiderOperandsAreNotNarrowed) {
  Problem by_p({}, {.x = Dtype::kBF16, .p = Dtype::kF32});
  by_p.code(0).code(0, 0, 0, 2).x(0, 0, 128);
  expect_output(by_p.p({1 + 0x1p-8}), 128, "a tie: 128.5");
  expect_output(by_p.p({1 + 0x1p-8 + 0x1p-23}), 129, "just above; p rounded to BF16 first would be 1");
  Problem by_shared({.top_k = 1}, {.x = Dtype::kBF16, .p = Dtype::kF32, .s = Dtype::kF64});
  expect_output(by_shared.code(0).shared({1 + 0x1p-8 + 0x1p-52}), 1 + 0x1p-7, "just above the tie");
  Problem f64_p({}, {.x = Dtype::kF32, .p = Dtype::kF64});
  f64_p.code(0).code(0, 0, 0, 2);
  expect_output(f64_p.p({1 + 0x1p-24 + 0x1p-52}), 1 + 0x1p-23);
  expect_output(f64_p.p({1 + 0x1p-24}), 1);
}

TEST(Corners, IntegerTokensAreRefused) {
  const Problem problem;
  ExpertLinearInputs in = problem.inputs();
  const std::vector<std::int32_t> ones(32, 1);
  in.latent_tokens = {Dtype::kI32, {1, 32}, ones.data(), {}};
  EXPECT_FALSE(validate_mxfp4_expert_linear(in).ok());
}

// COR-8: -0 codes and 0 codes are the same in every sum that is not all zeros.
TEST(Corners, Code8IsAZero) {
  Problem problem;
  problem.code(0, 0, 4, 8);
  expect_output(problem, 31);
  expect_output(problem.x(0, 4, -5), 31);
}

}  // namespace
}  // namespace moe4::test
