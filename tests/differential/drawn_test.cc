// The reference against its opponent on drawn problems.
#include <gtest/gtest.h>

#include <bit>

#include "tests/differential/compare.h"
#include "tests/support/problems/build_problem.h"
#include "tests/support/problems/check_property.h"
#include "tests/support/reference_call/reference_call.h"

namespace differential {
namespace {

TEST(Drawn, TheReferenceEqualsTheSlowModel) {
  const auto agree = [](const slow_model::Problem& problem) { return disagreement(problem); };
  EXPECT_EQ(problems::counterexample(agree, kDrawnProblems), "");
}

// Without NaN, Inf and empty shapes every output is a rounded sum: nothing hides behind a NaN.
TEST(Drawn, TheReferenceEqualsTheSlowModelOnFiniteProblems) {
  const problems::Drawn finite = {.non_finite = false, .ids_absent = false, .empty = false};
  const auto agree = [](const slow_model::Problem& problem) { return disagreement(problem); };
  EXPECT_EQ(problems::counterexample(agree, kDrawnProblems, finite), "");
}

TEST(Drawn, TheReferenceEqualsTheSlowModelOnInt4) {
  const problems::Drawn int4 = {.weights = slow_model::WeightFormat::kInt4};
  const auto agree = [](const slow_model::Problem& problem) { return disagreement(problem); };
  EXPECT_EQ(problems::counterexample(agree, kDrawnInt4Problems, int4), "");
}

TEST(Drawn, TheReferenceEqualsTheSlowModelOnFiniteInt4) {
  const problems::Drawn finite = {
      .non_finite = false, .ids_absent = false, .empty = false, .weights = slow_model::WeightFormat::kInt4};
  const auto agree = [](const slow_model::Problem& problem) { return disagreement(problem); };
  EXPECT_EQ(problems::counterexample(agree, kDrawnInt4Problems, finite), "");
}

// LIN-6, which the comparison by class can't see.
TEST(Drawn, NanResultsAreCanonical) {
  const auto canonical = [](const slow_model::Problem& problem) -> std::string {
    const auto reference = reference_call::outputs(problem);
    const slow_model::FloatFormat& format = problem.output_format();
    for (const std::uint64_t y : *reference) {
      if (slow_model::is_nan(format, y) && y != format.canonical_nan()) {
        return "a NaN that is not canonical";
      }
    }
    return "";
  };
  EXPECT_EQ(problems::counterexample(canonical, 2000), "");
}

// The function with the statement's six arguments is the same function under the default policy.
TEST(Drawn, SixArgumentsAreTheDefaultPolicy) {
  const auto same = [](const slow_model::Problem& drawn) -> std::string {
    slow_model::Problem problem = drawn;
    problem.policy = {};
    const reference_call::Tensors in(problem);
    const auto six = moe4::mxfp4_expert_linear(in.latent_tokens.view(), in.packed_weights.view(),
                                               in.scale_bytes.view(), in.selected_experts.view(),
                                               in.mixture_weights.view(), in.shared_output.view());
    if (!six.ok()) return six.error().message();
    if (six->dtype() != in.latent_tokens.dtype()) return "the output has another dtype than the tokens";
    if (six->shape() != moe4::Shape{problem.tokens, problem.out}) return "the output has another shape";
    return reference_call::bits_of(*six) == slow_model::expert_linear(problem) ? "" : "other bits";
  };
  EXPECT_EQ(problems::counterexample(same, 2000, {.ids_absent = false}), "");
}

// E2M1 and E8M0 as the reference reads them, seen through its public function: row o holds byte o in every
// place, tokens are one-hot on an even and an odd element, so each output is one weight, exact in F64.
TEST(Decode, EveryByteAtEveryScale) {
  slow_model::Problem problem = problems::plain_problem({.tokens = 2, .out = 256}, slow_model::kF64);
  problems::set_tokens(problem, 0.0);
  problems::set_token(problem, 0, 6, 1.0);
  problems::set_token(problem, 1, 7, 1.0);
  for (int byte = 0; byte < 256; ++byte) {
    std::fill_n(problem.packed_weights.begin() + 16 * byte, 16, static_cast<std::uint8_t>(byte));
  }
  for (int scale = 0; scale < 255; ++scale) {
    problems::set_scales(problem, scale);
    const auto reference = reference_call::outputs(problem);
    ASSERT_TRUE(reference.ok()) << reference.error().message();
    for (std::size_t n = 0; n < reference->size(); ++n) {
      const int byte = static_cast<int>(n % 256);
      const int code = n < 256 ? byte % 16 : byte / 16;
      const slow_model::Dyadic weight =
          slow_model::e2m1_value(code) * slow_model::Dyadic::scaled(1, scale - 127);
      ASSERT_EQ((*reference)[n], slow_model::round_to_nearest_even(slow_model::kF64, weight))
          << "byte " << byte << " code " << code << " scale byte " << scale;
    }
  }
}

// The 16 entries once more, against numbers typed here.
TEST(Decode, TheSixteenValues) {
  const double values[16] = {0.0, 0.5,  1.0,  1.5,  2.0,  3.0,  4.0,  6.0,
                             0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0};
  for (int code = 0; code < 16; ++code) {
    slow_model::Problem problem = problems::plain_problem({}, slow_model::kF64);
    problems::set_tokens(problem, 0.0);
    problems::set_token(problem, 0, 31, 1.0);
    problems::set_codes(problem, code);
    const std::uint64_t expected = std::bit_cast<std::uint64_t>(values[code]);
    EXPECT_EQ(*reference_call::outputs(problem), std::vector<std::uint64_t>{expected}) << code;
    EXPECT_EQ(slow_model::expert_linear(problem), std::vector<std::uint64_t>{expected}) << code;
  }
}

}  // namespace
}  // namespace differential
