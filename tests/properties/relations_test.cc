// Each relation holds for the reference on drawn problems, and a kernel with a planted fault breaks it.
#include "tests/properties/relations.h"

#include <gtest/gtest.h>

#include "tests/properties/planted.h"
#include "tests/support/problems/check_property.h"

namespace properties {
namespace {

constexpr int kProblems = 2000;

struct Relation {
  std::string name;
  std::string (*check)(const Kernel& kernel, const Problem& problem);
  Kernel planted;
};

class Relations : public ::testing::TestWithParam<Relation> {};

TEST_P(Relations, HoldsForTheReference) {
  const auto property = [](const Problem& problem) { return GetParam().check(reference(), problem); };
  EXPECT_EQ(problems::counterexample(property, kProblems), "");
}

TEST_P(Relations, IsBrokenByAPlantedFault) {
  const auto property = [](const Problem& problem) { return GetParam().check(GetParam().planted, problem); };
  EXPECT_NE(problems::counterexample(property, kProblems, {}, /*shrink=*/false), "");
}

INSTANTIATE_TEST_SUITE_P(
    Each, Relations,
    ::testing::Values(Relation{"PermutedTokens", permuted_tokens, second_row_off()},
                      Relation{"PermutedSlots", permuted_slots, last_slot_ignored()},
                      Relation{"PermutedExperts", permuted_experts, expert_zero_taken_for_last()},
                      Relation{"PermutedGroups", permuted_groups, last_group_ignored()},
                      Relation{"SplitBatch", split_batch, wrong_for_three_tokens()},
                      Relation{"OutputsOneByOne", outputs_one_by_one, second_column_off()},
                      Relation{"PoisonedExperts", poisoned_experts, every_scale_read()},
                      Relation{"StridedInputs", strided_inputs, strides_ignored()},
                      Relation{"NothingBesideTheOutputWritten", nothing_else_written,
                               writes_behind_the_output()},
                      Relation{"NoInputWritten", nothing_else_written, writes_an_input()},
                      Relation{"ThreadCounts", thread_counts, depends_on_threads()}),
    [](const auto& instance) { return instance.param.name; });

constexpr problems::Drawn kFinite = {.non_finite = false};

TEST(Scaling, PowersOfTwoMoveOnlyTheExponent) {
  int judged = 0;
  const auto property = [&](const Problem& problem) {
    return scaled_by_a_power_of_two(reference(), problem, &judged);
  };
  EXPECT_EQ(problems::counterexample(property, 4 * kProblems, kFinite), "");
  EXPECT_GE(judged, 1000) << "too few outputs were in range to mean anything";
}

TEST(Scaling, IsBrokenByAPlantedFault) {
  int judged = 0;
  const Kernel planted = wrong_for_even_exponents();
  const auto property = [&](const Problem& problem) {
    return scaled_by_a_power_of_two(planted, problem, &judged);
  };
  EXPECT_NE(problems::counterexample(property, kProblems, kFinite, /*shrink=*/false), "");
}

}  // namespace
}  // namespace properties
