// The reference applied to a problem of tests/support/slow_model.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/linear/mxfp4_expert_linear.h"
#include "tests/support/slow_model/problem.h"

namespace reference_call {

moe4::Dtype dtype_of(const slow_model::FloatFormat& format);
moe4::Policy policy_of(const slow_model::Policy& policy);
moe4::Tensor tensor_of(const slow_model::FloatTensor& tensor, moe4::Shape shape);
std::vector<std::uint64_t> bits_of(const moe4::Tensor& tensor);  // of a float tensor
// packed_weights and scale_bytes or scales, by the layer's format.
moe4::Tensor packed_of(const slow_model::Layer& layer);
moe4::Tensor scales_of(const slow_model::Layer& layer);

// The tensors of a problem, owned.
struct Tensors {
  moe4::Tensor latent_tokens;
  moe4::Tensor packed_weights;  // of either format
  moe4::Tensor scale_bytes;     // int4: scales
  moe4::Tensor selected_experts;
  moe4::Tensor mixture_weights;
  moe4::Tensor shared_output;

  explicit Tensors(const slow_model::Problem& problem);
  moe4::ExpertLinearInputs inputs() const;  // mxfp4
  moe4::LinearInputs int4_inputs() const;
};

// The reference's output, as encodings.
moe4::Result<std::vector<std::uint64_t>> outputs(const slow_model::Problem& problem);

}  // namespace reference_call
