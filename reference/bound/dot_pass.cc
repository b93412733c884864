#include "reference/bound/dot_pass.h"

#include <algorithm>
#include <numeric>
#include <string>

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

void bound_dots(const DotPass& pass, const FinishBlock& finish) {
  const FlatPlan plan(plan_chains(pass.arithmetic.order, pass.in));
  const DotBounder bounder(plan, pass.format, pass.arithmetic);
  std::vector<TokenOperand> tokens;
  tokens.reserve(pass.operands.size());
  for (const auto& row : pass.operands) tokens.emplace_back(plan, pass.tokens, row);
  const std::vector<std::size_t> order = by_expert(pass.uses);

  const auto uses = static_cast<std::int64_t>(pass.uses.size());
  const std::int64_t blocks = (pass.out + kRowBlock - 1) / kRowBlock;
#pragma omp parallel if (uses * pass.out >= kWorthThreads / pass.in)
  {
    RowBlock rows(plan);
    std::vector<DotBlock> dots(pass.uses.size());
#pragma omp for schedule(dynamic)
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::int64_t first = block * kRowBlock;
      std::int64_t decoded = -1;
      for (const std::size_t use : order) {
        const std::int64_t expert = pass.uses[use].expert;
        if (expert != decoded) rows.decode(pass.weights, expert, first, pass.out);
        decoded = expert;
        const TokenOperand& token = tokens[pass.uses[use].operand];
        dots[use].bound = bounder(rows, token);
        for (std::size_t r = 0; r < kRowBlock; ++r) dots[use].finite[r] = token.finite && rows.finite[r];
      }
      finish(first, static_cast<int>(std::min<std::int64_t>(kRowBlock, pass.out - first)), dots);
    }
  }
}

Status refuse_width(std::int64_t in) {
  if (in <= kLargestIn) return {};
  return Error{"latent_tokens", std::to_string(in), "BND-15: a bound is computed for I up to 2^20"};
}

Status refuse_arithmetic(const Arithmetic& a) {
  if (a.profile != RoundingProfile::kOnce) {
    return Error{"profile", "other than once", "BND-16: the profile with a bound is once"};
  }
  if (a.weight != WeightOperand::kExact) {
    return Error{"weight", "bf16", "BND-16: the weight operand with a bound is exact"};
  }
  if (a.dequant != Int4Order::kNorm) {
    return Error{"dequant", std::string(name_of(a.dequant)),
                 "BND-16: the dequantisation with a bound is norm"};
  }
  if (a.accumulation.kind != Accumulation::Kind::kSequential) {
    return Error{"accumulation", std::string(name_of(a.accumulation)),
                 "BND-16: the accumulation with a bound is f32_sequential"};
  }
  if (a.order.slicing == Order::Slicing::kStreamK) {
    return Error{"order", to_string(a.order), "BND-16: partials in BF16 have no bound"};
  }
  return {};
}

}  // namespace moe4
