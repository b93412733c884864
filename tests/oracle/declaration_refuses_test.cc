// Which cases a declaration accepts.
#include <gtest/gtest.h>

#include "oracle/subject/declaration.h"

namespace moe4::oracle {
namespace {

Declaration narrow() {
  Result<Declaration> d = parse_declaration(
      R"({"schema": 1, "name": "k", "op": "expert_linear", "weights": "mxfp4", "dtypes": ["bf16", "f32"],
          "in_multiple": 64, "in_max": 128, "out_multiple": 8, "out_max": 16, "tokens_max": 4, "experts_max": 6,
          "top_k_max": 2})");
  EXPECT_TRUE(d.ok());
  return *d;
}

Case fits() {
  Case c;
  c.in = 64;
  c.out = 8;
  return c;
}

// The refusal begins with the key that it is about.
void expect_refused(const Declaration& d, const Case& c, const std::string& key) {
  const std::optional<std::string> reason = d.refuses(c);
  ASSERT_TRUE(reason.has_value()) << to_string(c);
  EXPECT_EQ(reason->rfind(key + "=", 0), 0u) << *reason;
}

TEST(Refuses, NothingInsideTheLimits) {
  Case c = fits();
  EXPECT_FALSE(narrow().refuses(c));
  c.dtype = Dtype::kF32;
  EXPECT_FALSE(narrow().refuses(c)) << "shared follows the tokens";
  c.tokens = 4, c.experts = 6, c.top_k = 2, c.in = 128, c.out = 16;
  EXPECT_FALSE(narrow().refuses(c));
}

TEST(Refuses, EachLimit) {
  const auto with = [](auto member, auto value) {
    Case c = fits();
    c.*member = value;
    return c;
  };
  const Declaration d = narrow();
  expect_refused(d, with(&Case::dtype, Dtype::kF16), "dtype");
  expect_refused(d, with(&Case::mixture, Dtype::kBF16), "mixture");
  expect_refused(d, with(&Case::shared, Dtype::kF32), "shared");
  expect_refused(d, with(&Case::ids_dtype, Dtype::kI64), "ids_dtype");
  expect_refused(d, with(&Case::in, 96), "in");
  expect_refused(d, with(&Case::in, 192), "in");
  expect_refused(d, with(&Case::out, 12), "out");
  expect_refused(d, with(&Case::out, 24), "out");
  expect_refused(d, with(&Case::tokens, 5), "tokens");
  expect_refused(d, with(&Case::experts, 7), "experts");
  expect_refused(d, with(&Case::top_k, 3), "top_k");
  expect_refused(d, with(&Case::weights, WeightFormat::kInt4), "weights");
  expect_refused(d, with(&Case::op, Op::kIndexed), "op");
}

TEST(Refuses, APolicyThatItDoesNotFollow) {
  Declaration d = narrow();
  Case c = fits();
  c.policy.scale_nan = ScaleNan::kFormula;
  expect_refused(d, c, "policy");
  d.policy.scale_nan = ScaleNan::kFormula;
  EXPECT_FALSE(d.refuses(c));
  expect_refused(d, fits(), "policy");
  d.any_policy = true;
  EXPECT_FALSE(d.refuses(fits()));
}

// CASE-19: a chip that decides nothing, and one that cannot multiply the tokens.
TEST(Refuses, HardwareWhereItDecidesNothing) {
  Declaration d = narrow();
  Case c = fits();
  c.hardware = "ampere";
  expect_refused(d, c, "hardware");
  d.arithmetic.accumulation = *parse_accumulation("hopper");
  EXPECT_FALSE(d.refuses(c));
  EXPECT_EQ(arithmetic_on(d, c).accumulation, *parse_accumulation("ampere"));
  EXPECT_EQ(arithmetic_on(d, fits()).accumulation, *parse_accumulation("hopper"));
  c.hardware = "turing";
  expect_refused(d, c, "hardware");
  d.dtypes = {Dtype::kF16};
  c.dtype = Dtype::kF16;
  EXPECT_FALSE(d.refuses(c));
  d.any_accumulation = true;
  d.arithmetic.accumulation = {};
  EXPECT_FALSE(d.refuses(c)) << "any: not known, so it may multiply matrices";
  EXPECT_EQ(arithmetic_on(d, c).accumulation, Accumulation{});
}

// `zero` is about comparison (COR-3), so no kernel can fail to follow it.
TEST(Refuses, NoCaseForItsZeroPolicy) {
  Case c = fits();
  c.policy.zero = ZeroCompare::kStrict;
  EXPECT_FALSE(narrow().refuses(c));
}

}  // namespace
}  // namespace moe4::oracle
