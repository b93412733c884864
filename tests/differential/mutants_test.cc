// The drawn property can fail: it tells every wrong model from the reference, with as many problems as it
// has.
#include "tests/differential/mutants.h"

#include <gtest/gtest.h>

#include "tests/differential/compare.h"
#include "tests/support/problems/check_property.h"

namespace differential {
namespace {

class Mutants : public ::testing::TestWithParam<Mutant> {};

TEST_P(Mutants, IsToldFromTheReference) {
  const auto agree = [](const slow_model::Problem& problem) {
    return disagreement(*GetParam().model, problem);
  };
  EXPECT_NE(problems::counterexample(agree, kDrawnProblems, {}, /*shrink=*/false), "")
      << "this wrong model passes the differential property";
}

INSTANTIATE_TEST_SUITE_P(Each, Mutants, ::testing::ValuesIn(mutants()),
                         [](const auto& instance) { return instance.param.name; });

// A failure comes out small: one token, one output, one group.
TEST(Shrinking, LeavesAProblemThatAPersonCanRead) {
  const Mutant swapped = mutants().front();
  slow_model::Problem smallest;
  const auto agree = [&](const slow_model::Problem& problem) {
    const std::string complaint = disagreement(*swapped.model, problem);
    if (!complaint.empty()) smallest = problem;
    return complaint;
  };
  ASSERT_NE(problems::counterexample(agree, kDrawnProblems), "");
  EXPECT_EQ(smallest.tokens, 1);
  EXPECT_EQ(smallest.out, 1);
  EXPECT_EQ(smallest.groups, 1);
  EXPECT_EQ(smallest.experts, 1);
}

}  // namespace
}  // namespace differential
