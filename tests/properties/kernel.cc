#include "tests/properties/kernel.h"

#include <stdexcept>

#include "tests/support/reference_call/reference_call.h"

namespace properties {

Kernel reference() {
  return [](const moe4::ExpertLinearInputs& inputs, moe4::MutableTensorView output,
            const moe4::Policy& policy) { return moe4::mxfp4_expert_linear(inputs, output, policy); };
}

Bits outputs(const Kernel& kernel, const slow_model::Problem& problem) {
  const reference_call::Tensors tensors(problem);
  moe4::Tensor output(tensors.latent_tokens.dtype(), {problem.tokens, problem.out});
  const moe4::Status status =
      kernel(tensors.inputs(), output.mutable_view(), reference_call::policy_of(problem.policy));
  if (status) {
    throw std::runtime_error(status->message());
  }
  return reference_call::bits_of(output);
}

}  // namespace properties
