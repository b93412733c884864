// The text of declared arithmetics and what is refused (PRO-19, PRO-20), drawn, against the slow model.
#include <gtest/gtest.h>

#include "reference/profile/arithmetic.h"
#include "tests/differential/draw_arithmetic.h"

namespace differential {
namespace {

using namespace slow_model;
using problems::Draw;

TEST(ArithmeticText, ReadsAndPrintsEveryWord) {
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    Draw draw(seed);
    const DeclaredArithmetic arithmetic = draw_arithmetic(draw);
    const auto parsed = moe4::parse_arithmetic(text_of(arithmetic));
    ASSERT_TRUE(parsed.ok()) << text_of(arithmetic) << ": " << parsed.error().message();
    const auto again = moe4::parse_arithmetic(moe4::to_string(*parsed));
    ASSERT_TRUE(again.ok()) << moe4::to_string(*parsed);
    ASSERT_EQ(*again, *parsed);
    ASSERT_EQ(moe4::to_string(*parsed), short_text_of(arithmetic));
  }
}

// Over all arithmetics, formats and dtypes the same ones are refused.
TEST(ArithmeticText, TheSameAreRefused) {
  int counts[2] = {0, 0};
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    Draw draw(seed);
    const DeclaredArithmetic arithmetic = draw_arithmetic(draw);
    const auto parsed = moe4::parse_arithmetic(text_of(arithmetic));
    ASSERT_TRUE(parsed.ok());
    Problem problem;
    problem.groups = 8;
    problem.latent_tokens.format = kFloatFormats[draw.below(4)];
    problem.weights = draw.pick({WeightFormat::kMxfp4, WeightFormat::kInt4});
    constexpr moe4::Dtype kDtypes[] = {moe4::Dtype::kBF16, moe4::Dtype::kF16, moe4::Dtype::kF32,
                                       moe4::Dtype::kF64};
    moe4::ArithmeticUse use;
    for (std::size_t n = 0; n < 4; ++n) {
      if (problem.latent_tokens.format == kFloatFormats[n]) use.output = kDtypes[n];
    }
    use.weights =
        problem.weights == WeightFormat::kInt4 ? moe4::WeightFormat::kInt4 : moe4::WeightFormat::kMxfp4;
    const bool is_refused = moe4::check_arithmetic(*parsed, use).has_value();
    ASSERT_EQ(is_refused, refused(arithmetic, problem))
        << text_of(arithmetic) << " " << problem.latent_tokens.format.name << " "
        << moe4::name_of(*use.weights);
    use.weights.reset();
    ASSERT_EQ(moe4::check_arithmetic(*parsed, use).has_value(), refused_for_combine(arithmetic))
        << text_of(arithmetic) << " for combine, " << problem.latent_tokens.format.name;
    counts[is_refused ? 1 : 0] += 1;
  }
  EXPECT_GT(counts[0], 1000);
  EXPECT_GT(counts[1], 1000);
}

}  // namespace
}  // namespace differential
