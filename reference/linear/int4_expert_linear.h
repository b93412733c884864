// op=expert_linear weights=int4: the expert linear of int4.md, exact.
//
// Shapes and dtypes:
//   latent_tokens     BF16|F16|F32|F64  [T,I]     I = 32 G
//   packed_weights    I32               [E,O,I/8]   element i at bits 4·(i%8) of word i/8, q + 8 (INT-2)
//   scales            BF16              [E,O,G]     any value (INT-3)
//   selected_experts  I32|I64           [T,K]
//   mixture_weights   BF16|F16|F32|F64  [T,K]
//   shared_output     BF16|F16|F32|F64  [T,O]
//   result            as latent_tokens  [T,O]
// Inputs may be strided. For the caller's memory or a policy: expert_linear of expert_linear.h.
#pragma once

#include "reference/linear/expert_linear.h"

namespace moe4 {

// INT-7: the norm, W = RNE_bf16((code - 8) · scale).
Result<Tensor> int4_expert_linear(const TensorView& latent_tokens, const TensorView& packed_weights,
                                  const TensorView& scales, const TensorView& selected_experts,
                                  const TensorView& mixture_weights, const TensorView& shared_output);

}  // namespace moe4
