// op=expert_linear weights=mxfp4: the statement's own function, exact (docs/spec/linear.md).
//
//   y[t,o] = RNE( shared[t,o] + sum_j p[t,j] * sum_i W[e(t,j)][o,i] * x[t,i] )
//
// Shapes and dtypes:
//   latent_tokens     BF16|F16|F32|F64  [T,I]     I = 32 G
//   packed_weights    U8                [E,O,G,16]  low nibble first (FMT-3)
//   scale_bytes       U8                [E,O,G]     E8M0 (FMT-2)
//   selected_experts  I32|I64           [T,K]
//   mixture_weights   BF16|F16|F32|F64  [T,K]
//   shared_output     BF16|F16|F32|F64  [T,O]
//   output            as latent_tokens  [T,O]
// Inputs may be strided; the output is contiguous and overlaps no input.
#pragma once

#include "reference/linear/expert_linear.h"
#include "reference/policy.h"
#include "reference/status.h"
#include "reference/tensor.h"

namespace moe4 {

struct ExpertLinearInputs {
  TensorView latent_tokens;
  TensorView packed_weights;
  TensorView scale_bytes;
  TensorView selected_experts;
  TensorView mixture_weights;
  TensorView shared_output;
};

// The same inputs for the functions that take either weight format.
LinearInputs linear_inputs(const ExpertLinearInputs& inputs);

// VAL-1 … VAL-9 without the output; the ids are read.
Result<ExpertLinearDims> validate_mxfp4_expert_linear(const ExpertLinearInputs& inputs,
                                                      const Policy& policy = {});

// The norm, into memory of the caller. On an Error nothing has been written.
Status mxfp4_expert_linear(const ExpertLinearInputs& inputs, MutableTensorView output,
                           const Policy& policy = {});

// The norm, by the statement's name and six arguments.
Result<Tensor> mxfp4_expert_linear(const TensorView& latent_tokens, const TensorView& packed_weights,
                                   const TensorView& scale_bytes, const TensorView& selected_experts,
                                   const TensorView& mixture_weights, const TensorView& shared_output);

}  // namespace moe4
