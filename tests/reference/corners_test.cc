// COR and LIN: every corner of the norm and every policy, by its right value.
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

// --- scales
// -----------------------------------------------------------------------------------------------------

TEST(Corners, Scale255IsNanForAll32) {
  for (int i = 0; i < 32; ++i) {
    Problem problem;
    problem.code(0).x(0).x(0, i, 1).scale(255);
    expect_output(problem, kNan, "even where all codes are zero");
  }
  // Only the group and the row that have it.
  Problem two_rows({.in = 64, .out = 2});
  expect_outputs(two_rows.scale(0, 1, 1, 255), {64, kNan});
}

TEST(Corners, Scale255ByFormulaIsTwoToThe128) {
  Problem problem({}, {.x = Dtype::kF32});
  problem.code(0).code(0, 0, 0, 7).scale(255).x(0, 0, 0x1p-100);
  expect_output(under("scale_nan=formula", problem), 0x1.8p30, "6 · 2^128 · 2^-100");
  problem.x(0, 0, -1);
  expect_output(under("scale_nan=formula", problem), -kInf, "-6 · 2^128 overflows at the rounding");
  problem.x(0, 1, 1).code(0, 0, 1, 7);
  expect_output(under("scale_nan=formula", problem), 0, "6 · 2^128 - 6 · 2^128");
}

TEST(Corners, Scale255AsInf) {
  expect_output(under("scale_nan=inf", Problem().scale(255)), kInf, "all codes 1.0");
  expect_output(under("scale_nan=inf", Problem().scale(255).code(10)), -kInf, "all codes -1.0");
  for (const std::uint8_t zero : {0, 8}) {
    expect_output(under("scale_nan=inf", Problem().scale(255).code(0, 0, 31, zero)), kNan, "one zero code");
  }
  expect_output(under("scale_nan=inf", Problem().scale(255).code(0, 0, 3, 12)), kNan, "+Inf and -Inf");
  expect_output(under("scale_nan=inf", Problem().scale(255).x(0, 3, 0)), kNan, "Inf · token 0");
}

TEST(Corners, Scale0IsTwoToTheMinus127) {
  expect_output(Problem({}, {.x = Dtype::kF32}).scale(0), 0x1p-122, "32 · 2^-127");
  expect_output(Problem({}, {.x = Dtype::kF32}).scale(0).code(0).code(0, 0, 5, 1), 0x1p-128, "a subnormal");
  expect_output(under("scale_zero=flush", Problem().scale(0)), 0);
  expect_output(under("scale_zero=flush", Problem().scale(0).x(0, 1, kInf)), kNan, "0 · Inf");
  expect_output(under("scale_zero=flush", Problem().scale(1)), 0x1p-121, "byte 1 is not flushed");
}

TEST(Corners, Scales253And254AreExact) {
  Problem problem;
  problem.code(7).scale(254).x(0x1p-100);
  expect_output(problem, 0x1.8p34, "32 · 6 · 2^127 · 2^-100");
  problem.scale(253);
  expect_output(problem, 0x1.8p33);
  problem.x(1).x(0, 0, -31);
  expect_output(problem, 0, "31 · 6 · 2^126 - 31 · 6 · 2^126");
  problem.x(0, 1, 2);
  expect_output(problem, kInf, "6 · 2^126 is above the BF16 range: overflow at the one rounding");
}

// --- zeros
// ------------------------------------------------------------------------------------------------------

TEST(Corners, AnExactZeroIsPlusZero) {
  for (const Dtype dtype : kFloats) {
    const Dtypes dtypes = {.x = dtype, .s = dtype};
    expect_output(Problem({}, dtypes).code(8).shared({-0.0}), 0.0, "only -0 terms and shared -0");
    expect_output(Problem({}, dtypes).code(8).shared({0.0}), 0.0);
    expect_output(Problem({}, dtypes).code(0).x(-1).shared({-0.0}), 0.0, "0 · -1");
    expect_output(Problem({}, dtypes).shared({-32}), 0.0, "32 - 32");
    expect_output(Problem({}, dtypes).p({-0.0}).shared({-0.0}), 0.0, "p = -0");
  }
}

TEST(Corners, WithoutATermSharedKeepsItsZero) {
  for (const Dtype dtype : kFloats) {
    for (const double zero : {0.0, -0.0}) {
      expect_output(Problem({.top_k = 0}, {.x = dtype, .s = dtype}).shared({zero}), zero, "K = 0");
      expect_output(
          under("ids=absent", Problem({.top_k = 2}, {.x = dtype, .s = dtype}).ids({-1, -1}).shared({zero})),
          zero, "all absent");
      expect_output(under("skip_zero_p=yes", Problem({}, {.x = dtype, .s = dtype}).p({-0.0}).shared({zero})),
                    zero, "all skipped");
      expect_output(
          under("ids=absent",
                Problem({.top_k = 2}, {.x = dtype, .s = dtype}).ids({-1, 0}).code(0).shared({zero})),
          0.0, "one of two contributes");
    }
  }
}

TEST(Corners, ASumThatRoundsToZeroKeepsItsSign) {
  // ±0.5 · 2^-127 · 2^-133 is far below the smallest BF16 subnormal 2^-133.
  Problem problem;
  problem.code(0).scale(0).x(0x1p-133).code(0, 0, 0, 9);
  expect_output(problem, -0.0);
  problem.code(0, 0, 0, 1);
  expect_output(problem, 0.0);
  problem.code(0, 0, 0, 9).shared({-0.0});
  expect_output(problem, -0.0, "not an exact zero");
  expect_output(Problem({.top_k = 0}, {.x = Dtype::kF16, .s = Dtype::kF32}).shared({-0x1p-26}), -0.0,
                "K = 0, RNE(s)");
}

// --- non-finite numbers (LIN-5)
// -----------------------------------------------------------------------------------

TEST(Corners, ANanTokenReachesAllItsOutputs) {
  Problem problem({.tokens = 2, .out = 3});
  problem.x(0, 7, kNan);
  expect_outputs(problem, {kNan, kNan, kNan, 32, 32, 32});
  problem.code(0);
  expect_outputs(problem, {kNan, kNan, kNan, 0, 0, 0}, "NaN · 0");
}

TEST(Corners, AnyNanBecomesTheCanonicalNan) {
  for (const Dtype dtype : kFloats) {
    const std::uint64_t infinity = encode(dtype, kInf);
    for (const std::uint64_t nan : {infinity | 1, encode(dtype, -kInf) | 1, ~std::uint64_t{0}}) {
      Problem problem({}, {.x = dtype, .p = dtype, .s = dtype});
      set_bits(problem.latent_tokens, 31, nan);
      expect_output(problem, kNan);
      Problem by_p({}, {.x = dtype, .p = dtype, .s = dtype});
      set_bits(by_p.mixture_weights, 0, nan);
      expect_output(by_p, kNan);
      Problem by_shared({}, {.x = dtype, .p = dtype, .s = dtype});
      set_bits(by_shared.shared_output, 0, nan);
      expect_output(by_shared, kNan);
    }
  }
}

TEST(Corners, InfiniteTokens) {
  expect_output(Problem().x(0, 3, kInf), kInf);
  expect_output(Problem().x(0, 3, kInf).code(0, 0, 3, 9), -kInf, "-0.5 · Inf");
  expect_output(Problem().x(0, 3, kInf).code(0, 0, 3, 0), kNan, "0 · Inf");
  expect_output(Problem().x(0, 3, kInf).code(0, 0, 3, 8), kNan, "-0 · Inf");
  expect_output(Problem().x(0, 3, kInf).x(0, 4, -kInf), kNan, "+Inf - Inf");
  expect_output(Problem().x(0, 3, kInf).x(0, 4, kInf), kInf);
  expect_output(Problem().x(0, 3, kInf).p({-0.5}), -kInf);
  expect_output(Problem().x(0, 3, kInf).p({0}), kNan, "p = 0 times Inf");
  expect_output(Problem().x(0, 3, kInf).shared({-kInf}), kNan);
  expect_output(Problem().x(0, 3, kInf).shared({kInf}), kInf);
}

TEST(Corners, InfiniteMixtureWeights) {
  expect_output(Problem().p({kInf}), kInf);
  expect_output(Problem().p({-kInf}), -kInf);
  expect_output(Problem().p({kInf}).x(-1), -kInf, "the sign of d = -32");
  expect_output(Problem().p({kInf}).code(0), kNan, "Inf · exact 0");
  Problem cancelling;
  cancelling.p({kInf});
  for (int i = 0; i < 16; ++i) cancelling.x(0, i, -1);
  expect_output(cancelling, kNan, "d cancels to an exact zero");
  // 1 + 2^-120 - 1 + ... : any rounding of d before the product would see zero.
  cancelling.x(0, 31, 0).x(0, 0, 0).code(0, 0, 2, 1).code(0, 0, 20, 1).x(0, 20, 1);
  expect_output(cancelling, kNan);
  cancelling.x(0, 31, 0x1p-120);
  expect_output(cancelling, kInf, "d = 2^-120");
  cancelling.x(0, 31, -0x1p-133);
  expect_output(cancelling, -kInf, "d = -2^-133");
  // Two slots.
  expect_output(Problem({.top_k = 2}).p({kInf, -kInf}), kNan, "+Inf - Inf");
  expect_output(Problem({.top_k = 2}).p({kInf, -1}), kInf);
}

TEST(Corners, InfiniteSharedOutput) {
  expect_output(Problem().shared({kInf}), kInf);
  expect_output(Problem().shared({-kInf}), -kInf);
  expect_output(Problem().shared({kNan}), kNan);
  expect_output(Problem({.top_k = 0}).shared({-kInf}), -kInf);
  expect_output(Problem({.top_k = 0}).shared({kNan}), kNan);
}

// --- slots
// ------------------------------------------------------------------------------------------------------

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

// --- shapes
// -----------------------------------------------------------------------------------------------------

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

// --- one rounding, whatever the dtypes
// -----------------------------------------------------------------------------

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
