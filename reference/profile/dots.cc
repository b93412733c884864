#include "reference/profile/dots.h"

#include "reference/arithmetic/product.h"
#include "reference/arithmetic/round.h"
#include "reference/profile/group_sum.h"
#include "reference/profile/plan_sum.h"

namespace moe4 {
namespace {

// Order aside, what `exact` needs of it.
Order without_chains(Order order) {
  order.kind = Order::Kind::kSeq;
  order.join = Order::Join::kNone;
  if (order.slicing == Order::Slicing::kSplit) order.slicing = Order::Slicing::kNone;
  return order;
}

// c + Σ factor·(sum of a run), or the sum of the chain where there are no factors. sum_of(indices) begins at
// +0.
template <class Ops, class SumOf>
typename Ops::Dot chain_of_runs(const Ops& ops, std::span<const std::int32_t> chain,
                                std::span<const double> factors, SumOf sum_of) {
  if (factors.empty()) return sum_of(chain);
  typename Ops::Dot c = 0;
  for_each_run(chain, [&](std::span<const std::int32_t> run) {
    const auto group = static_cast<std::size_t>(run[0] / kGroupSize);
    c = ops.add_product(c, factors[group], static_cast<double>(sum_of(run)));
  });
  return c;
}

std::vector<double> factors_of(const DeclaredWeights& weights, std::int64_t e, std::int64_t o,
                               std::size_t in) {
  std::vector<double> factors;
  if (!weights.has_factors()) return factors;
  for (std::int64_t g = 0; g < static_cast<std::int64_t>(in) / kGroupSize; ++g) {
    factors.push_back(nearest<double>(weights.factor(e, o, g)));
  }
  return factors;
}

}  // namespace

DotSum ExactDots::dot(std::int64_t e, std::int64_t o, const Token& x, const ChainPlan& plan) const {
  const auto in = static_cast<std::int64_t>(x.size());
  const std::vector<ExactValue> w =
      weights_.row<ExactValue>(e, o, in, [](const ExactValue& value) { return value; });
  const auto add_products = [&](auto& sum, std::span<const std::int32_t> indices) {
    for (const std::int32_t i : indices) {
      sum.add(moe4::product(w[static_cast<std::size_t>(i)], x[static_cast<std::size_t>(i)]));
    }
  };
  return plan_sum(ops_, plan, [&](std::span<const std::int32_t> chain) {
    DotSum sum;
    if (!weights_.has_factors()) {
      add_products(sum, chain);
      return sum;
    }
    for_each_run(chain, [&](std::span<const std::int32_t> run) {
      GroupSum group;
      add_products(group, run);
      sum.add_product(weights_.factor(e, o, run[0] / kGroupSize), group);  // INT-10
    });
    return sum;
  });
}

template <class F>
typename FloatDots<F>::Token FloatDots<F>::token(std::span<const ExactValue> x) const {
  Token token;
  token.reserve(x.size());
  for (const ExactValue& v : x) token.push_back(nearest<double>(v));
  return token;
}

template <class F>
F FloatDots<F>::dot(std::int64_t e, std::int64_t o, const Token& x, const ChainPlan& plan) const {
  const std::vector<double> w =
      weights_.row<double>(e, o, static_cast<std::int64_t>(x.size()), nearest<double>);
  const std::vector<double> factors = factors_of(weights_, e, o, x.size());
  const auto sum_of = [&](std::span<const std::int32_t> indices) {
    F c = 0;
    for (const std::int32_t i : indices) {
      c = ops_.add_product(c, w[static_cast<std::size_t>(i)], x[static_cast<std::size_t>(i)]);  // ACC-3
    }
    return c;
  };
  return plan_sum(ops_, plan, [&](std::span<const std::int32_t> chain) {
    return chain_of_runs(ops_, chain, factors, sum_of);
  });
}

template class FloatDots<float>;
template class FloatDots<double>;

TensorCoreDots::Token TensorCoreDots::token(std::span<const ExactValue> x) const {
  Token token;
  token.reserve(x.size());
  for (const ExactValue& v : x) {
    const std::uint64_t bits = round_to(format_of(operands_), v);
    token.push_back(tensor_operand(operands_, static_cast<std::uint16_t>(bits)));
  }
  return token;
}

float TensorCoreDots::dot(std::int64_t e, std::int64_t o, const Token& x, const ChainPlan& plan) const {
  const auto operand_of = [&](const ExactValue& value) {
    const std::uint64_t bits = round_to(format_of(operands_), value);  // ACC-6
    return tensor_operand(operands_, static_cast<std::uint16_t>(bits));
  };
  const std::vector<TensorOperand> w =
      weights_.row<TensorOperand>(e, o, static_cast<std::int64_t>(x.size()), operand_of);
  const std::vector<double> factors = factors_of(weights_, e, o, x.size());
  std::vector<TensorOperand> a;
  std::vector<TensorOperand> b;
  const auto sum_of = [&](std::span<const std::int32_t> indices) {
    a.clear();
    b.clear();
    for (const std::int32_t i : indices) {
      a.push_back(w[static_cast<std::size_t>(i)]);
      b.push_back(x[static_cast<std::size_t>(i)]);
    }
    return std::bit_cast<float>(tensor_core_chain(*unit_, operands_, 0, a, b));  // ACC-7
  };
  return plan_sum(ops_, plan, [&](std::span<const std::int32_t> chain) {
    return chain_of_runs(ops_, chain, factors, sum_of);
  });
}

AnyDots make_dots(const ExpertWeights& weights, const Policy& policy, const Arithmetic& arithmetic,
                  Dtype tokens) {
  const DeclaredWeights declared(weights, policy, arithmetic);
  switch (arithmetic.accumulation.kind) {
    case Accumulation::Kind::kExact:
      return ExactDots(declared);
    case Accumulation::Kind::kTensorCore:
      return TensorCoreDots(declared, arithmetic, tokens);
    case Accumulation::Kind::kSequential:
      break;
  }
  if (tokens == Dtype::kF64) return FloatDots<double>(declared, arithmetic);
  return FloatDots<float>(declared, arithmetic);
}

ChainPlan declared_plan(const Arithmetic& arithmetic, std::int64_t in) {
  const bool exact = arithmetic.accumulation.kind == Accumulation::Kind::kExact;
  return plan_chains(exact ? without_chains(arithmetic.order) : arithmetic.order, in);
}

ChainPlan declared_plan(const Arithmetic& arithmetic, std::span<const Slice> slices) {
  const bool exact = arithmetic.accumulation.kind == Accumulation::Kind::kExact;
  return plan_slices(exact ? without_chains(arithmetic.order) : arithmetic.order, slices);
}

}  // namespace moe4
