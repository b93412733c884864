// The exact values behind the expert linear, before the one rounding: per output and per slot.
//
//   auto linear = ExactLinear::create(inputs, policy);        // validates (VAL-1 … VAL-9)
//   const ExactToken token = linear->token(t);                // decodes x[t,:] and the slots of t once
//   ExactOutput y = token.output(o);                          // s + Σ_j p_j d_j
//   y.add_double(error); y.round(Dtype::kBF16);               // RNE(y + error)
//   token.dot(token.slots()[0], o).round(kF64);               // RNE(d_j) as bits of a double
#pragma once

#include <cstdint>
#include <vector>

#include "reference/accumulate/exact_widths.h"
#include "reference/formats/elements.h"
#include "reference/linear/expert_weights.h"
#include "reference/linear/mxfp4_expert_linear.h"
#include "reference/routing/slots.h"

namespace moe4 {

// The argument of RNE in LIN-1: an exact extended real, and the sign that it has if it is an untouched zero
// (LIN-7).
class ExactOutput {
 public:
  ExactOutput(const OutputSum& sum, bool minus_zero) : sum_(sum), minus_zero_(minus_zero) {}

  SumClass cls() const { return sum_.cls(); }
  bool is_zero() const { return sum_.is_zero(); }
  bool is_negative() const { return sum_.is_negative(); }
  const OutputSum& sum() const { return sum_; }

  // Adds the exact value of v. Adding a zero changes nothing, not even the sign of a zero.
  void add_double(double v);

  // FMT-7 into a float dtype; a zero by LIN-7.
  std::uint64_t round(Dtype dtype) const;

 private:
  OutputSum sum_;
  bool minus_zero_;
};

// One token of an ExactLinear: valid as long as the memory behind the inputs.
class ExactToken {
 public:
  // Precondition: valid inputs (VAL-1 … VAL-9), 0 <= t < T.
  ExactToken(const LinearInputs& inputs, const Policy& policy, std::int64_t t);

  // The slots that contribute, and x[t,:].
  const std::vector<Slot>& slots() const { return slots_; }
  const std::vector<ExactValue>& x() const { return x_; }

  // d_j = Σ_i W[e_j][o,i] · x[t,i].
  DotSum dot(const Slot& slot, std::int64_t o) const;
  // s[t,o] + Σ_j p_j · d_j.
  ExactOutput output(std::int64_t o) const;

 private:
  std::int64_t t_;
  WeightReader weights_;
  Elements<2> shared_output_;
  std::vector<Slot> slots_;
  std::vector<ExactValue> x_;
};

// Validated inputs; borrows their memory.
class ExactLinear {
 public:
  static Result<ExactLinear> create(const LinearInputs& inputs, const Policy& policy);
  static Result<ExactLinear> create(const ExpertLinearInputs& inputs, const Policy& policy) {
    return create(linear_inputs(inputs), policy);
  }

  const ExpertLinearDims& dims() const { return dims_; }
  Dtype output_dtype() const { return inputs_.latent_tokens.dtype; }
  // Precondition: 0 <= t < T.
  ExactToken token(std::int64_t t) const { return ExactToken(inputs_, policy_, t); }

 private:
  ExactLinear(const LinearInputs& inputs, const Policy& policy, const ExpertLinearDims& dims)
      : inputs_(inputs), policy_(policy), dims_(dims) {}

  LinearInputs inputs_;
  Policy policy_;
  ExpertLinearDims dims_;
};

}  // namespace moe4
