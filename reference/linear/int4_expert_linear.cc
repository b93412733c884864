#include "reference/linear/int4_expert_linear.h"

namespace moe4 {

Result<Tensor> int4_expert_linear(const TensorView& latent_tokens, const TensorView& packed_weights,
                                  const TensorView& scales, const TensorView& selected_experts,
                                  const TensorView& mixture_weights, const TensorView& shared_output) {
  return expert_linear({latent_tokens, ExpertWeights::int4(packed_weights, scales), selected_experts,
                        mixture_weights, shared_output});
}

}  // namespace moe4
