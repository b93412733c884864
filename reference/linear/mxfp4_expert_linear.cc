#include "reference/linear/mxfp4_expert_linear.h"

namespace moe4 {

LinearInputs linear_inputs(const ExpertLinearInputs& inputs) {
  return {inputs.latent_tokens, ExpertWeights::mxfp4(inputs.packed_weights, inputs.scale_bytes),
          inputs.selected_experts, inputs.mixture_weights, inputs.shared_output};
}

Result<ExpertLinearDims> validate_mxfp4_expert_linear(const ExpertLinearInputs& inputs,
                                                      const Policy& policy) {
  return validate_expert_linear(linear_inputs(inputs), policy);
}

Status mxfp4_expert_linear(const ExpertLinearInputs& inputs, MutableTensorView output, const Policy& policy) {
  return expert_linear(linear_inputs(inputs), std::move(output), policy);
}

Result<Tensor> mxfp4_expert_linear(const TensorView& latent_tokens, const TensorView& packed_weights,
                                   const TensorView& scale_bytes, const TensorView& selected_experts,
                                   const TensorView& mixture_weights, const TensorView& shared_output) {
  return expert_linear({latent_tokens, ExpertWeights::mxfp4(packed_weights, scale_bytes), selected_experts,
                        mixture_weights, shared_output});
}

}  // namespace moe4
