// The drawn properties of the contracts and of INT4 can fail: each tells every wrong model from the
// reference, with as many problems as it has.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/differential/compare.h"
#include "tests/differential/compare_contracts.h"
#include "tests/differential/contract_mutants.h"
#include "tests/differential/int4_mutants.h"
#include "tests/support/problems/check_property.h"
#include "tests/support/slow_model/expert_linear.h"

namespace differential {
namespace {

template <class T>
std::string name(const ::testing::TestParamInfo<T>& instance) {
  return instance.param.name;
}

// Over both formats: a wrong reading of one format's weights shows in one of them only.
bool told(const Rows& model, RowsOp op, std::initializer_list<WeightFormat> formats) {
  const auto agree = [&](const RowsProblem& problem) { return disagreement(model, problem); };
  return std::any_of(formats.begin(), formats.end(), [&](WeightFormat format) {
    return !problems::rows_counterexample(agree, kDrawnContracts, op, format, /*shrink=*/false).empty();
  });
}

class WrongRows : public ::testing::TestWithParam<RowsMutant> {};

TEST_P(WrongRows, AreToldFromTheReference) {
  EXPECT_TRUE(told(*GetParam().model, GetParam().op, {WeightFormat::kMxfp4, WeightFormat::kInt4}))
      << "this wrong model passes the differential property";
}

INSTANTIATE_TEST_SUITE_P(Each, WrongRows, ::testing::ValuesIn(rows_mutants()), name<RowsMutant>);

TEST(CarefulRows, AreNotToldFromTheReference) {
  EXPECT_FALSE(told(*careful_rows(), RowsOp::kIndexed, {WeightFormat::kMxfp4, WeightFormat::kInt4}));
}

class WrongInt4Rows : public ::testing::TestWithParam<Int4Mutant<Rows>> {};

TEST_P(WrongInt4Rows, AreToldFromTheReference) {
  for (const RowsOp op : {RowsOp::kIndexed, RowsOp::kGroupedContiguous, RowsOp::kGroupedMasked}) {
    EXPECT_TRUE(told(*GetParam().model, op, {WeightFormat::kInt4})) << static_cast<int>(op);
  }
}

INSTANTIATE_TEST_SUITE_P(Each, WrongInt4Rows, ::testing::ValuesIn(int4_mutants<Rows>()),
                         name<Int4Mutant<Rows>>);

class WrongInt4Linear : public ::testing::TestWithParam<Int4Mutant<ExpertLinear>> {};

TEST_P(WrongInt4Linear, IsToldFromTheReference) {
  const auto agree = [](const Problem& problem) { return disagreement(*GetParam().model, problem); };
  const problems::Drawn int4 = {.weights = WeightFormat::kInt4};
  EXPECT_NE(problems::counterexample(agree, kDrawnInt4Problems, int4, /*shrink=*/false), "");
}

INSTANTIATE_TEST_SUITE_P(Each, WrongInt4Linear, ::testing::ValuesIn(int4_mutants<ExpertLinear>()),
                         name<Int4Mutant<ExpertLinear>>);

class WrongCombine : public ::testing::TestWithParam<CombineMutant> {};

TEST_P(WrongCombine, IsToldFromTheReference) {
  const auto agree = [](const CombineProblem& problem) { return disagreement(*GetParam().model, problem); };
  EXPECT_NE(problems::combine_counterexample(agree, 2 * kDrawnContracts, /*shrink=*/false), "");
}

INSTANTIATE_TEST_SUITE_P(Each, WrongCombine, ::testing::ValuesIn(combine_mutants()), name<CombineMutant>);

// Failures come out small.
TEST(Shrinking, LeavesARoutingThatAPersonCanRead) {
  for (const RowsMutant& mutant : rows_mutants()) {
    if (mutant.name != "TokenIsIdModTokens" && mutant.name != "FirstRowOfTheTileOf2") continue;
    RowsProblem smallest;
    const auto agree = [&](const RowsProblem& problem) {
      const std::string complaint = disagreement(*mutant.model, problem);
      if (!complaint.empty()) smallest = problem;
      return complaint;
    };
    ASSERT_NE(problems::rows_counterexample(agree, kDrawnContracts, mutant.op, WeightFormat::kInt4), "");
    EXPECT_EQ(smallest.groups, 1);
    EXPECT_EQ(smallest.out, 1);
    EXPECT_LE(Rows().routed_rows(smallest).size(), 2u);
  }
}

}  // namespace
}  // namespace differential
