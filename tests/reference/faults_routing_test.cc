// Cases made for known kinds of wrong kernels, by class: F padding of the routing, G degenerate routing, H
// mixture weights, I rounding and range, K empty work, M memory. Each has its right value and, in brackets,
// what the fault would give. The other classes are in faults_weights_test.cc.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/reference/problem.h"

namespace moe4::test {
namespace {

const double kNan = std::nan("");

// ids=absent, as kernels with padded routing need it.
Problem with_absent(Problem problem) {
  problem.policy.ids = Ids::kAbsent;
  return problem;
}

// F and G: padded and degenerate routing.

TEST(Faults, F1_Expert0IsNoPlaceholder) {
  Problem problem({.tokens = 2, .experts = 3, .top_k = 2});
  problem.ids({1, 2, 2, 1});
  for (const std::uint8_t scale : {127, 255}) {
    expect_output(problem.scale(0, 0, 0, scale), 64);
  }
}

TEST(Faults, F2_RowsOfAbsentSlots) {
  Problem problem({.tokens = 3, .experts = 2, .top_k = 2});
  problem.ids({0, 1, -1, -1, 1, 0}).p({1, 2, kNan, kNan, 3, 4}).shared({5, 6, 8}).scale(1, 0, 0, 128);
  expect_outputs(with_absent(problem), {5 + 32 + 128, 6, 8 + 192 + 128}, "[a crash, or NaN in row 1]");
  problem.ids({-1, -1, -1, -1, -1, -1});
  expect_outputs(with_absent(problem), {5, 6, 8});
}

TEST(Faults, F3_EveryTokenOfAnExpertIsComputed) {
  Problem problem({.tokens = 4});
  for (int t = 0; t < 4; ++t) {
    for (int i = 0; i < 32; ++i) problem.x(t, i, t + 1);
  }
  expect_outputs(problem, {32, 64, 96, 128}, "[only row 0]");
}

TEST(Faults, F5_PartsOfTheExpertsAddUp) {
  // W_e x = 2^e · 32; the part of experts 2 and 3, its other slots absent, and the part of experts 0 and 1.
  Problem whole({.experts = 4, .top_k = 4});
  for (int e = 0; e < 4; ++e) whole.scale(e, 0, 0, static_cast<std::uint8_t>(127 + e));
  expect_output(whole.ids({0, 1, 2, 3}), 480);
  expect_output(with_absent(whole.ids({-1, -1, 2, 3})), 384);
  expect_output(with_absent(whole.ids({0, 1, -1, -1})), 96);
  expect_output(with_absent(whole.ids({-1, -1, -1, -1})), 0);
}

TEST(Faults, G1_OneExpertInEverySlot) {
  Problem problem({.tokens = 2, .experts = 6, .top_k = 4});
  problem.ids({0, 1, 2, 3, 5, 5, 5, 5}).p({1, 2, 4, 8, 0, 0, 0, 0}).shared({1, 7});
  expect_outputs(problem, {481 - 1, 7},
                 "32·15 + 1 = 481, of which the BF16 grid of 2 has 480 [row 1 crashes]");
  expect_outputs(problem.p({1, 2, 4, 8, 1, 1, 1, 1}).shared({0, 0}), {480, 128},
                 "four times the same expert");
}

TEST(Faults, G2_MoreSlotsThanExperts) {
  Problem problem({.experts = 2, .top_k = 3});
  expect_output(with_absent(problem.ids({1, 0, -1}).p({0.5, 0.25, 0})), 24);
  EXPECT_FALSE(problem.run().ok()) << "the default refuses -1";
  expect_output(problem.ids({1, 0, 0}), 24, "p = 0 for the repeated one");
}

// H: mixture weights.

TEST(Faults, H1_WeightCountsOnce) { expect_output(Problem().p({0.5}), 16, "[8: twice; 32: never]"); }

TEST(Faults, H2_H4_FactorConcernsTheRoutedSumOnly) {
  expect_output(Problem().p({2.5}).shared({10}), 90,
                "[210: twice; 105: on shared too; 84: shared by 1/factor]");
  expect_output(Problem().p({0}).shared({10}), 10);
}

TEST(Faults, H3_EveryExpertIsWeightedAlike) {
  Problem problem({.experts = 2, .top_k = 2});
  expect_output(problem.ids({0, 1}).p({0.75, 0.75}), 48, "[60]");
}

TEST(Faults, H5_WeightsGoWithTheirSlots) {
  Problem problem({.experts = 2, .top_k = 2});
  problem.scale(1, 0, 0, 128).ids({0, 1});
  expect_output(problem.p({0.75, 0.25}), 40, "[56: exchanged]");
  expect_output(problem.ids({1, 0}), 56);
}

TEST(Faults, H7_WeightsKeepTheirPrecision) {
  Problem problem;
  set_bits(problem.mixture_weights, 0, 0x3E99999A);  // 0.3 in F32
  expect_output(problem.code(7).scale(131), 920, "921.6 [924: 0.3 as BF16]");
}

TEST(Faults, H8_WeightsBelowOneAreNotCut) {
  Problem problem({.experts = 2, .top_k = 2});
  problem.ids({0, 1}).p({0.875, 0.125}).scale(1, 0, 0, 130);
  expect_output(problem, 60, "32·0.875 + 256·0.125 [0]");
}

// I: rounding and range.

TEST(Faults, I1_SmallTermsDoNotVanish) {
  for (const bool large_first : {true, false}) {
    Problem problem({.experts = 2, .top_k = 8});
    problem.code(0).code(0, 0, 0, 2).code(1, 0, 0, 2).scale(1, 0, 0, 135);
    for (int j = 0; j < 8; ++j) set(problem.selected_experts, j, j == (large_first ? 0 : 7) ? 1 : 0);
    expect_output(problem, 264, "263 [256]");
  }
}

TEST(Faults, I2_SharedIsAddedBeforeTheRounding) {
  Problem problem({.top_k = 8});
  problem.code(0).code(0, 0, 0, 2).shared({256});
  expect_output(problem, 264, "[256]");
}

TEST(Faults, I3_NoOverflowOnTheWay) {
  Problem problem({.in = 256}, {.x = Dtype::kF16});
  problem.code(15).x(64);
  problem.scale(0, 0, 0, 128);
  for (int i = 128; i < 256; ++i) problem.x(0, i, -64);
  problem.scale(0, 0, 4, 128);
  expect_output(problem, 0, "-6·64·160 + 6·64·160, each half beyond an F16 [-Inf or NaN]");
}

TEST(Faults, I4_CancellationIsExactForAnyNumberOfTokens) {
  for (const std::int64_t tokens : {1, 2, 4, 5, 8, 16}) {
    Problem problem({.tokens = tokens});
    problem.x(0);
    for (std::int64_t t = 0; t < tokens; ++t) problem.x(t, 0, 0x1p24).x(t, 1, 1).x(t, 2, -0x1p24);
    expect_output(problem, 1, "[0: left to right in F32]");
  }
}

TEST(Faults, I5_SmallScalesAreNotFlushed) {
  expect_output(Problem().scale(20).x(0x1p100).code(2), 0.25, "[0]");
  for (int byte = 0; byte < 255; ++byte) {
    expect_output(Problem().scale(static_cast<std::uint8_t>(byte)).x(std::ldexp(1.0, 127 - byte)), 32);
  }
}

// K and M: empty work, memory.

TEST(Faults, K1_K2_K3_NothingToDo) {
  expect_outputs(with_absent(Problem({.tokens = 4}).ids({-1, -1, -1, -1}).shared({1, 2, 3, 4})),
                 {1, 2, 3, 4});
  EXPECT_EQ(Problem({.tokens = 0, .top_k = 4}).run()->shape(), (Shape{0, 1}));
  Problem ends({.tokens = 2, .experts = 8});
  expect_output(ends.ids({0, 7}), 32, "experts 1 to 6 have no token");
}

TEST(Faults, M1_TokensInAWiderBuffer) {
  const Problem problem({.tokens = 2});
  Tensor wide(Dtype::kBF16, {2, 64});
  for (int i = 0; i < 64; ++i) {
    set(wide, i, i < 32 ? 1 : 100);
    set(wide, 64 + i, i < 32 ? 2 : 200);
  }
  ExpertLinearInputs in = problem.inputs();
  in.latent_tokens = {Dtype::kBF16, {2, 32}, wide.data(), {64, 1}};
  Tensor output(Dtype::kBF16, {2, 1});
  ASSERT_FALSE(mxfp4_expert_linear(in, output.mutable_view()).has_value());
  EXPECT_EQ(bits_at(output, 0), encode(Dtype::kBF16, 32));
  EXPECT_EQ(bits_at(output, 1), encode(Dtype::kBF16, 64)) << "[3200]";
}

TEST(Faults, M3_ZeroWeightKeepsNan_AbsenceDoesNot) {
  Problem problem({.experts = 2, .top_k = 2});
  problem.scale(1, 0, 0, 255).p({1, 0});
  expect_output(problem.ids({0, 1}), kNan, "0 · NaN");
  expect_output(with_absent(problem.ids({0, -1})), 32);
}

}  // namespace
}  // namespace moe4::test
