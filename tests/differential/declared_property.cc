#include "tests/differential/declared_property.h"

#include "tests/differential/draw_arithmetic.h"
#include "tests/support/problems/check_property.h"

namespace differential {
namespace {

using namespace slow_model;
using problems::Draw;

constexpr int kLinearProblems = 2500;
constexpr int kRowsProblems = 1500;  // of each operation
constexpr int kCombineProblems = 4000;

// One arithmetic in eight is left as it is, refused or not.
template <class Allow>
DeclaredArithmetic arithmetic_for(std::uint64_t seed, const Allow& allow) {
  Draw draw(seed);
  const DeclaredArithmetic drawn = draw_arithmetic(draw);
  return draw.one_in(8) ? drawn : allow(drawn);
}

}  // namespace

std::string declared_linear_counterexample(const DeclaredModel& model, WeightFormat weights, bool shrink) {
  const auto agree = [&](const Problem& problem) {
    const DeclaredArithmetic arithmetic = arithmetic_for(problem.seed, [&](const DeclaredArithmetic& drawn) {
      return allowed(drawn, problem, problem.latent_tokens.format);
    });
    return disagreement(model, arithmetic, problem);
  };
  return problems::counterexample(agree, kLinearProblems, {.weights = weights}, shrink);
}

std::string declared_rows_counterexample(const DeclaredModel& model, WeightFormat weights, bool shrink) {
  const auto agree = [&](const RowsProblem& problem) {
    const DeclaredArithmetic arithmetic = arithmetic_for(
        problem.seed, [&](const DeclaredArithmetic& drawn) { return allowed(drawn, problem, kBf16); });
    return disagreement(model, arithmetic, problem);
  };
  for (const RowsOp op : {RowsOp::kIndexed, RowsOp::kGroupedContiguous, RowsOp::kGroupedMasked}) {
    const std::string found = problems::rows_counterexample(agree, kRowsProblems, op, weights, shrink);
    if (!found.empty()) return found;
  }
  return "";
}

std::string declared_combine_counterexample(const DeclaredModel& model, bool shrink) {
  const auto agree = [&](const CombineProblem& problem) {
    return disagreement(model, arithmetic_for(problem.seed, allowed_for_combine), problem);
  };
  return problems::combine_counterexample(agree, kCombineProblems, shrink);
}

std::string streamk_with_ftz_counterexample(const DeclaredModel& model) {
  const auto agree = [&](const RowsProblem& problem) {
    Draw draw(problem.seed);
    DeclaredArithmetic arithmetic = draw_arithmetic(draw);
    arithmetic.order.slices = SumOrder::Slices::kStreamK;
    arithmetic.order.n = draw.between(1, 3);
    if (arithmetic.order.chains == SumOrder::Chains::kAny) arithmetic.order.chains = SumOrder::Chains::kSeq;
    arithmetic = allowed(arithmetic, problem, kBf16);
    arithmetic.ftz = arithmetic.accumulation != DeclaredArithmetic::Accumulation::kExact;
    return disagreement(model, arithmetic, problem);
  };
  return problems::rows_counterexample(agree, kRowsProblems, RowsOp::kGroupedContiguous, WeightFormat::kInt4);
}

}  // namespace differential
