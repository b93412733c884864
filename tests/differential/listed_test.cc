// The listed cases through the reference and the slow model; both must give the value worked out by hand.
#include "tests/differential/listed_cases.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/differential/mutants.h"
#include "tests/support/problems/build_problem.h"
#include "tests/support/problems/generators.h"
#include "tests/support/reference_call/reference_call.h"

namespace differential {
namespace {

class Listed : public ::testing::TestWithParam<ListedCase> {};

TEST_P(Listed, BothGiveTheHandWorkedValue) {
  const slow_model::Problem& problem = GetParam().problem;
  const auto reference = reference_call::outputs(problem);
  ASSERT_TRUE(reference.ok()) << reference.error().message();
  const std::vector<std::uint64_t> expected =
      problems::float_tensor(problem.output_format(), GetParam().expected).bits;
  EXPECT_EQ(slow_model::expert_linear(problem), expected) << problem;
  EXPECT_EQ(*reference, expected) << problem;  // NaN included: LIN-6 fixes its bits
}

std::string case_name(const ::testing::TestParamInfo<ListedCase>& instance) { return instance.param.name; }

INSTANTIATE_TEST_SUITE_P(Corner, Listed, ::testing::ValuesIn(corner_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Rounding, Listed, ::testing::ValuesIn(rounding_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Extreme, Listed, ::testing::ValuesIn(extreme_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Fault, Listed, ::testing::ValuesIn(fault_cases()), case_name);

// The list alone, without a drawn problem, also tells every wrong model from the norm.
class ListedAgainst : public ::testing::TestWithParam<Mutant> {};

bool tells(const ListedCase& listed, const slow_model::ExpertLinear& model) {
  return model.outputs(listed.problem) !=
         problems::float_tensor(listed.problem.output_format(), listed.expected).bits;
}

TEST_P(ListedAgainst, SomeCaseTellsTheWrongModel) {
  bool told = false;
  for (auto list : {corner_cases, rounding_cases, extreme_cases, fault_cases}) {
    const std::vector<ListedCase> cases = list();
    told = told || std::any_of(cases.begin(), cases.end(),
                               [](const ListedCase& listed) { return tells(listed, *GetParam().model); });
  }
  EXPECT_TRUE(told);
}

INSTANTIATE_TEST_SUITE_P(Each, ListedAgainst, ::testing::ValuesIn(mutants()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace differential
