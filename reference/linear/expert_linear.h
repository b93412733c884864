// op=expert_linear for both weight formats, exact (docs/spec/linear.md).
//
//   y[t,o] = RNE( shared[t,o] + sum_j p[t,j] * sum_i W[e(t,j)][o,i] * x[t,i] )
//
// The public functions by the names of the formats are in mxfp4_expert_linear.h and int4_expert_linear.h.
#pragma once

#include <cstdint>

#include "reference/linear/expert_weights.h"
#include "reference/policy.h"
#include "reference/status.h"
#include "reference/tensor.h"

namespace moe4 {

// Shapes and dtypes as in mxfp4_expert_linear.h, those of the weights as in expert_weights.h.
struct LinearInputs {
  TensorView latent_tokens;
  ExpertWeights weights;
  TensorView selected_experts;
  TensorView mixture_weights;
  TensorView shared_output;
};

// T, E, I, G, O, K of a valid set of inputs.
struct ExpertLinearDims {
  std::int64_t tokens = 0;
  std::int64_t experts = 0;
  std::int64_t in = 0;
  std::int64_t groups = 0;
  std::int64_t out = 0;
  std::int64_t top_k = 0;
};

// VAL-1 … VAL-9 without the output; the ids are read.
Result<ExpertLinearDims> validate_expert_linear(const LinearInputs& inputs, const Policy& policy = {});

// The norm, into memory of the caller: a contiguous [T,O] in the dtype of latent_tokens that overlaps no
// input. On an Error nothing has been written.
Status expert_linear(const LinearInputs& inputs, MutableTensorView output, const Policy& policy = {});

// The norm, into a new tensor.
Result<Tensor> expert_linear(const LinearInputs& inputs, const Policy& policy = {});

}  // namespace moe4
