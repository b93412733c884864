// Declared arithmetic of the reference against the slow model: drawn problems of every operation, each under
// an arithmetic drawn with it.
#include <gtest/gtest.h>

#include "tests/differential/compare_declared.h"
#include "tests/differential/declared_property.h"
#include "tests/support/problems/check_property.h"

namespace differential {
namespace {

TEST(DrawnDeclared, ExpertLinearMxfp4) {
  EXPECT_EQ(declared_linear_counterexample(declared_model, slow_model::WeightFormat::kMxfp4), "");
}

TEST(DrawnDeclared, ExpertLinearInt4) {
  EXPECT_EQ(declared_linear_counterexample(declared_model, slow_model::WeightFormat::kInt4), "");
}

TEST(DrawnDeclared, RowsMxfp4) {
  EXPECT_EQ(declared_rows_counterexample(declared_model, slow_model::WeightFormat::kMxfp4), "");
}

TEST(DrawnDeclared, RowsInt4) {
  EXPECT_EQ(declared_rows_counterexample(declared_model, slow_model::WeightFormat::kInt4), "");
}

TEST(DrawnDeclared, Combine) { EXPECT_EQ(declared_combine_counterexample(declared_model), ""); }

// d is a stored BF16 number there, which no rule flushes (PRO-1, PRO-17).
TEST(DrawnDeclared, StreamKWithFtz) { EXPECT_EQ(streamk_with_ftz_counterexample(declared_model), ""); }

}  // namespace
}  // namespace differential
