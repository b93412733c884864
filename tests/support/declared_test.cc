#include "tests/support/slow_model/declared.h"

#include <gtest/gtest.h>

#include "tests/support/problems/build_problem.h"
#include "tests/support/slow_model/expert_linear.h"

namespace slow_model {
namespace {

using Accumulation = DeclaredArithmetic::Accumulation;

// The table under PRO-9: x = 53/32, 81/64; weights (1, 1/2), (1/2, 1), (1/2, 1); p = 1/4, 3/4, 5/8; s =
// -15/4. Codes 1, 2 and 0 are 1/2, 1 and 0.
Problem five_profiles() {
  Problem problem = problems::plain_problem({.experts = 3, .top_k = 3});
  problems::set_codes(problem, 0);
  problems::set_tokens(problem, 0.0);
  problems::set_token(problem, 0, 0, 53.0 / 32);
  problems::set_token(problem, 0, 1, 81.0 / 64);
  const int codes[3][2] = {{1, 2}, {2, 1}, {2, 1}};
  for (int expert = 0; expert < 3; ++expert) {
    problems::set_code(problem, expert, 0, 0, codes[expert][0]);
    problems::set_code(problem, expert, 0, 1, codes[expert][1]);
  }
  problems::set_p(problem, kF32, {0.25, 0.75, 0.625});
  problems::set_shared(problem, kF32, {-3.75});
  return problem;
}

TEST(SlowDeclared, TheFiveProfiles) {
  const std::pair<Profile, double> expected[] = {
      {Profile::kOnce, -0.0791015625}, {Profile::kLate, -0.078125},     {Profile::kLateBf16Sum, -0.0625},
      {Profile::kHf, -0.09375},        {Profile::kEarly, -0.083984375},
  };
  for (const auto& [profile, y] : expected) {
    for (const Accumulation accumulation :
         {Accumulation::kExact, Accumulation::kF32Sequential, Accumulation::kTensorCore}) {
      DeclaredArithmetic arithmetic;
      arithmetic.profile = profile;
      arithmetic.accumulation = accumulation;
      arithmetic.generation = 4;
      EXPECT_EQ(Declared(arithmetic).expert_linear(five_profiles()),
                std::vector<std::uint64_t>{problems::bits_of(kBf16, y)})
          << text_of(arithmetic);
    }
  }
}

// A row of I = 32 groups with one token a group: partial sums by group are the tokens, weights 1.
RowsProblem row_of(const std::vector<double>& group_sums) {
  RowsProblem problem;
  problem.op = RowsOp::kGroupedContiguous;
  problem.experts = problem.out = problem.token_rows = 1;
  problem.groups = static_cast<std::int64_t>(group_sums.size());
  problem.m_indices = {0};
  problem.packed_weights.assign(static_cast<std::size_t>(problem.row_bytes()), 0x22);
  problem.scale_bytes.assign(group_sums.size(), 127);
  problem.latent_tokens.assign(static_cast<std::size_t>(problem.in()), 0);
  for (std::size_t g = 0; g < group_sums.size(); ++g) {
    problem.latent_tokens[32 * g] = problems::bits_of(kBf16, group_sums[g]);
  }
  return problem;
}

// The examples of PRO-17; the first with its partial of 9 bits made of two tokens.
TEST(SlowDeclared, StreamedSlices) {
  DeclaredArithmetic arithmetic;
  arithmetic.order.chains = SumOrder::Chains::kSeq;
  arithmetic.order.slices = SumOrder::Slices::kStreamK;
  arithmetic.order.n = 3;
  EXPECT_EQ(Declared(arithmetic).rows(row_of({1, 0x1p-8, 0x1p-8}), 0).output,
            std::vector<std::uint64_t>{0x3F81});
  arithmetic.order.slices = SumOrder::Slices::kNone;
  arithmetic.order.n = 0;
  EXPECT_EQ(Declared(arithmetic).rows(row_of({1, 0x1p-8, 0x1p-9}), 0).output,
            std::vector<std::uint64_t>{0x3F81});

  RowsProblem two = row_of({1, 0x1.8p-9});  // 0x3F800000 + 0x00006000, then 0x3B400000
  two.latent_tokens[1] = problems::bits_of(kBf16, 0x1.8p-9);
  EXPECT_EQ(Declared(arithmetic).rows(two, 0).output, std::vector<std::uint64_t>{0x3F81});
  arithmetic.order.slices = SumOrder::Slices::kStreamK;
  arithmetic.order.n = 2;
  EXPECT_EQ(Declared(arithmetic).rows(two, 0).output, std::vector<std::uint64_t>{0x3F80});
}

// PRO-22, on one problem with ties.
TEST(SlowDeclared, ExactOnceIsTheNorm) {
  DeclaredArithmetic arithmetic;
  arithmetic.accumulation = Accumulation::kExact;
  EXPECT_EQ(Declared(arithmetic).expert_linear(five_profiles()), expert_linear(five_profiles()));
}

TEST(SlowDeclared, Text) {
  DeclaredArithmetic arithmetic;
  EXPECT_EQ(short_text_of(arithmetic), "");
  arithmetic.profile = Profile::kLate;
  arithmetic.order = {SumOrder::Chains::kWarpsTree, 64, 4, SumOrder::Slices::kStreamK, 2};
  arithmetic.accumulation = Accumulation::kTensorCore;
  arithmetic.generation = 4;
  EXPECT_EQ(short_text_of(arithmetic), "profile=late order=streamk(2)*warps(64,4)+tree accumulation=hopper");
}

}  // namespace
}  // namespace slow_model
