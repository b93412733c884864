#include "reference/bound/dot_pass.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

namespace moe4 {
namespace {

constexpr std::int64_t kLargestIn = std::int64_t{1} << 20;
constexpr std::int64_t kWorthThreads = std::int64_t{1} << 20;  // products

// The places of the uses, by expert.
std::vector<std::size_t> by_expert(std::span<const DotUse> uses) {
  std::vector<std::size_t> order(uses.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return uses[a].expert < uses[b].expert; });
  return order;
}

}  // namespace

DotSum RowsOfDots::exact(std::size_t use, int r) {
  const std::size_t operand = pass_.uses[use].operand;
  if (operand != operand_of_x_) pass_.read(operand, x_);
  operand_of_x_ = operand;
  return exact_dot(weights_, plan_, pass_.uses[use].expert, first + r, x_);
}

void bound_dots(const DotPass& pass, const std::function<void(RowsOfDots&)>& finish) {
  const bool scaled = pass.arithmetic.dequant == Int4Order::kAccumulatorScale;
  const FlatPlan plan(plan_chains(pass.arithmetic.order, pass.in), scaled);
  const DotBounder bounder(plan, pass.format, pass.arithmetic, pass.tokens);
  std::vector<TokenOperand> tokens;
  tokens.reserve(pass.operands);
  std::vector<ExactValue> row(static_cast<std::size_t>(pass.in));
  for (std::size_t operand = 0; operand < pass.operands; ++operand) {
    pass.read(operand, row);
    tokens.emplace_back(plan, row);
  }
  const std::vector<std::size_t> order = by_expert(pass.uses);

  const auto uses = static_cast<std::int64_t>(pass.uses.size());
  const std::int64_t blocks = (pass.out + kRowBlock - 1) / kRowBlock;
#pragma omp parallel if (uses * pass.out >= kWorthThreads / pass.in)
  {
    WeightTables weights(pass.weights, pass.policy, pass.arithmetic, pass.tokens);
    RowBlock rows(plan, scaled);
    RowsOfDots finished(pass, plan, weights);
    std::vector<DotBlock> dots(pass.uses.size());
    finished.dots = dots;
#pragma omp for schedule(dynamic)
    for (std::int64_t block = 0; block < blocks; ++block) {
      finished.first = block * kRowBlock;
      finished.count = static_cast<int>(std::min<std::int64_t>(kRowBlock, pass.out - finished.first));
      std::int64_t decoded = -1;
      for (const std::size_t use : order) {
        const std::int64_t expert = pass.uses[use].expert;
        if (expert != decoded) rows.decode(weights, expert, finished.first, pass.out);
        decoded = expert;
        const TokenOperand& token = tokens[pass.uses[use].operand];
        dots[use].bound = bounder(rows, token);
        for (std::size_t r = 0; r < kRowBlock; ++r) dots[use].finite[r] = token.finite && rows.finite[r];
      }
      finish(finished);
    }
  }
}

Status refuse_width(std::int64_t in) {
  if (in <= kLargestIn) return {};
  return Error{"latent_tokens", std::to_string(in), "BND-15: a bound is computed for I up to 2^20"};
}

// More slices than PRO-18 lets pass are bounded in any order.
Status refuse_arithmetic(const Arithmetic& arithmetic, WeightFormat weights, Dtype tokens) {
  Arithmetic checked = arithmetic;
  if (checked.order.slicing == Order::Slicing::kStreamK) checked.order.slices = 1;
  return check_arithmetic(checked, {tokens, weights});
}

}  // namespace moe4
