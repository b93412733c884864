// Dot products over i under a declared arithmetic (PRO-3): one class an accumulation, with the same members.
//
//   Token token(x)               the activations of a row, prepared once
//   Dot dot(e, o, token, plan)   row o of expert e
//   Ops ops()                    the operations of what follows
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "reference/accumulate/order.h"
#include "reference/accumulate/tensor_core.h"
#include "reference/profile/declared_weights.h"
#include "reference/profile/exact_ops.h"
#include "reference/profile/float_ops.h"

namespace moe4 {

// ACC-2. The order has no effect but for the slices of stream-K, and the groups of accumulator_scale stay
// whole (INT-10).
class ExactDots {
 public:
  using Ops = ExactOps;
  using Token = std::vector<ExactValue>;

  explicit ExactDots(const DeclaredWeights& weights) : weights_(weights) {}

  const Ops& ops() const { return ops_; }
  Token token(std::span<const ExactValue> x) const { return {x.begin(), x.end()}; }
  DotSum dot(std::int64_t e, std::int64_t o, const Token& x, const ChainPlan& plan) const;

 private:
  DeclaredWeights weights_;
  ExactOps ops_;
};

// ACC-3, ACC-4. F is float, or double for F64 tokens.
template <class F>
class FloatDots {
 public:
  using Ops = FloatOps<F>;
  using Token = std::vector<double>;

  FloatDots(const DeclaredWeights& weights, const Arithmetic& arithmetic)
      : weights_(weights), ops_(arithmetic) {}

  const Ops& ops() const { return ops_; }
  Token token(std::span<const ExactValue> x) const;
  F dot(std::int64_t e, std::int64_t o, const Token& x, const ChainPlan& plan) const;

 private:
  DeclaredWeights weights_;
  Ops ops_;
};

// ACC-6 to ACC-16.
class TensorCoreDots {
 public:
  using Ops = FloatOps<float>;
  using Token = std::vector<TensorOperand>;

  // operands: the dtype of the tokens.
  TensorCoreDots(const DeclaredWeights& weights, const Arithmetic& arithmetic, Dtype operands)
      : weights_(weights), ops_(arithmetic), unit_(arithmetic.accumulation.unit), operands_(operands) {}

  const Ops& ops() const { return ops_; }
  Token token(std::span<const ExactValue> x) const;
  float dot(std::int64_t e, std::int64_t o, const Token& x, const ChainPlan& plan) const;

 private:
  DeclaredWeights weights_;
  Ops ops_;
  const TensorCore* unit_;
  Dtype operands_;
};

using AnyDots = std::variant<ExactDots, FloatDots<float>, FloatDots<double>, TensorCoreDots>;

// Precondition: check_arithmetic has nothing against it.
AnyDots make_dots(const ExpertWeights& weights, const Policy& policy, const Arithmetic& arithmetic,
                  Dtype tokens);

// The plan by which make_dots' result is to be asked: that of the order, or of the slices of a stream-K
// launch in columns, but without chains where nothing rounds.
ChainPlan declared_plan(const Arithmetic& arithmetic, std::int64_t in);
ChainPlan declared_plan(const Arithmetic& arithmetic, std::span<const Slice> slices);

}  // namespace moe4
