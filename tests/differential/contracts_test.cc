// The serving contracts of the reference against the slow model on drawn problems.
#include <gtest/gtest.h>

#include <tuple>

#include "tests/differential/compare_contracts.h"
#include "tests/support/problems/check_property.h"

namespace differential {
namespace {

using slow_model::RowsOp;
using slow_model::WeightFormat;

class DrawnRows : public ::testing::TestWithParam<std::tuple<RowsOp, WeightFormat>> {};

TEST_P(DrawnRows, TheReferenceEqualsTheSlowModel) {
  const auto [op, weights] = GetParam();
  const auto agree = [](const slow_model::RowsProblem& problem) {
    return disagreement(slow_model::Rows(), problem);
  };
  EXPECT_EQ(problems::rows_counterexample(agree, kDrawnContracts, op, weights), "");
}

std::string rows_name(const ::testing::TestParamInfo<std::tuple<RowsOp, WeightFormat>>& instance) {
  static constexpr const char* kOps[] = {"Indexed", "GroupedContiguous", "GroupedMasked"};
  const auto [op, weights] = instance.param;
  return std::string(kOps[static_cast<int>(op)]) + (weights == WeightFormat::kInt4 ? "Int4" : "Mxfp4");
}

INSTANTIATE_TEST_SUITE_P(Contracts, DrawnRows,
                         ::testing::Combine(::testing::Values(RowsOp::kIndexed, RowsOp::kGroupedContiguous,
                                                              RowsOp::kGroupedMasked),
                                            ::testing::Values(WeightFormat::kMxfp4, WeightFormat::kInt4)),
                         rows_name);

TEST(DrawnCombine, TheReferenceEqualsTheSlowModel) {
  const auto agree = [](const slow_model::CombineProblem& problem) {
    return disagreement(slow_model::Combine(), problem);
  };
  EXPECT_EQ(problems::combine_counterexample(agree, 2 * kDrawnContracts), "");
}

}  // namespace
}  // namespace differential
