// COR and LIN: scales, zeros and non-finite numbers, by their right values under the norm and every policy.
// Slots, shapes and dtypes are in corners_shape_test.cc.
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

// Scales.

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

// Zeros.

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

// Non-finite numbers (LIN-5).

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

}  // namespace
}  // namespace moe4::test
