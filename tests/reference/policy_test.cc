// The names of the policies (docs/spec/corners.md); what they do is tested in corners_value_test.cc and
// corners_shape_test.cc.
#include <gtest/gtest.h>

#include "reference/policy.h"

namespace moe4::test {
namespace {

TEST(Policy, TheNormIsTheEmptyText) {
  EXPECT_EQ(to_string(Policy{}), "");
  EXPECT_EQ(parse_policy("").value(), Policy{});
  EXPECT_EQ(parse_policy(" scale_nan=ocp  ids=error ").value(), Policy{});
}

TEST(Policy, EveryCombinationSurvivesPrintAndParse) {
  int combinations = 0;
  for (const ScaleNan scale_nan : {ScaleNan::kOcp, ScaleNan::kFormula, ScaleNan::kInf}) {
    for (const ScaleZero scale_zero : {ScaleZero::kExact, ScaleZero::kFlush}) {
      for (const ZeroCompare zero : {ZeroCompare::kAny, ZeroCompare::kStrict}) {
        for (const Ids ids : {Ids::kError, Ids::kAbsent}) {
          for (const SkipZeroP skip : {SkipZeroP::kNo, SkipZeroP::kYes}) {
            const Policy policy{scale_nan, scale_zero, zero, ids, skip};
            const Result<Policy> parsed = parse_policy(to_string(policy));
            ASSERT_TRUE(parsed.ok()) << to_string(policy);
            EXPECT_EQ(parsed.value(), policy) << to_string(policy);
            ++combinations;
          }
        }
      }
    }
  }
  EXPECT_EQ(combinations, 48);
}

TEST(Policy, EachNameSetsItsOwnMember) {
  const Policy policy =
      parse_policy("scale_nan=inf scale_zero=flush zero=strict ids=absent skip_zero_p=yes").value();
  EXPECT_EQ(policy.scale_nan, ScaleNan::kInf);
  EXPECT_EQ(policy.scale_zero, ScaleZero::kFlush);
  EXPECT_EQ(policy.zero, ZeroCompare::kStrict);
  EXPECT_EQ(policy.ids, Ids::kAbsent);
  EXPECT_EQ(policy.skip_zero_p, SkipZeroP::kYes);
  EXPECT_EQ(parse_policy("scale_nan=formula")->scale_nan, ScaleNan::kFormula);
  EXPECT_EQ(to_string(policy), "scale_nan=inf scale_zero=flush zero=strict ids=absent skip_zero_p=yes");
}

TEST(Policy, RefusalsListWhatIsKnown) {
  Policy policy;
  EXPECT_EQ(set_policy(policy, "scale_nan=nan")->message(),
            "scale_nan: value nan: COR: the value is one of: ocp formula inf");
  EXPECT_EQ(set_policy(policy, "scale=ocp")->message(),
            "policy: value scale: COR: the name is one of: scale_nan scale_zero zero ids skip_zero_p");
  EXPECT_EQ(set_policy(policy, "ids")->message(),
            "policy: value ids: COR: a policy is name=value, with a name of: scale_nan scale_zero zero ids "
            "skip_zero_p");
  EXPECT_TRUE(set_policy(policy, "ids=").has_value());
  EXPECT_TRUE(set_policy(policy, "").has_value());
  EXPECT_TRUE(set_policy(policy, "IDS=error").has_value());
  EXPECT_EQ(policy, Policy{}) << "a refusal changes nothing";
  EXPECT_FALSE(parse_policy("ids=absent zero=loose").ok());
}

TEST(Policy, TableNamesDefaultAmongTheValues) {
  ASSERT_EQ(policies().size(), 5U);
  for (const PolicyInfo& info : policies()) {
    Policy policy;
    EXPECT_FALSE(
        set_policy(policy, std::string(info.name) + "=" + std::string(info.default_value)).has_value());
    EXPECT_EQ(policy, Policy{}) << info.name;
    EXPECT_NE(info.values.find(info.default_value), std::string_view::npos);
    EXPECT_EQ(info.meaning.substr(0, 4), "COR-");
  }
}

}  // namespace
}  // namespace moe4::test
