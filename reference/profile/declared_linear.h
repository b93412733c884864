// op=expert_linear as a declared kernel computes it, to the bit (docs/spec/profiles.md, PRO-1 to PRO-9).
//
//   auto kernel = DeclaredLinear::create(inputs, arithmetic, policy);   // validates; borrows the inputs'
//   memory kernel->output(t, o);                                               // one output, as its encoding
//
// With accumulation=exact, profile=once and the norm's weights this is expert_linear (PRO-22), and on exact8
// data every arithmetic is (PRO-23).
//
// Shapes, dtypes and refusals as expert_linear.h, and PRO-20. `any` is evaluated as `seq`. The host's float
// unit takes part: call check_float_environment (arithmetic/canary.h) once before.
#pragma once

#include <cstdint>
#include <memory>

#include "reference/linear/expert_linear.h"
#include "reference/profile/arithmetic.h"

namespace moe4 {

class DeclaredLinear {
 public:
  static Result<DeclaredLinear> create(const LinearInputs& inputs, const Arithmetic& arithmetic,
                                       const Policy& policy = {});
  DeclaredLinear(DeclaredLinear&&) noexcept;
  DeclaredLinear& operator=(DeclaredLinear&&) noexcept;
  ~DeclaredLinear();

  const ExpertLinearDims& dims() const;

  // y[t,o] in the dtype of latent_tokens. Precondition: 0 <= t < T, 0 <= o < O. Any number of threads may
  // call it.
  std::uint64_t output(std::int64_t t, std::int64_t o) const;

  // All of them into memory of the caller, [T,O]; the caller has validated it.
  void outputs(const MutableTensorView& output) const;

 private:
  struct State;
  explicit DeclaredLinear(std::unique_ptr<const State> state);
  std::unique_ptr<const State> state_;
};

// All outputs, into a new tensor.
Result<Tensor> declared_expert_linear(const LinearInputs& inputs, const Arithmetic& arithmetic,
                                      const Policy& policy = {});

}  // namespace moe4
