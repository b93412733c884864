#include "reference/linear/validate.h"

#include <array>
#include <cstdint>
#include <string>

#include "reference/accumulate/exact_widths.h"
#include "reference/formats/elements.h"
#include "reference/linear/checks.h"

namespace moe4 {
namespace {

__extension__ using Int128 = __int128;

Status check_output_dtype(const TensorView& output, Dtype dtype) {
  if (output.dtype == dtype) return {};
  return refuse("output", std::string(name_of(output.dtype)),
                "VAL-5: the output has the dtype of latent_tokens, " + std::string(name_of(dtype)));
}

Status check_product_count(const ExpertLinearDims& dims) {
  if (Int128{dims.in} * dims.top_k <= Int128{1} << kLog2Products) return {};
  return refuse("selected_experts", "I = " + std::to_string(dims.in) + ", K = " + std::to_string(dims.top_k),
                "VAL-6: I * K is at most 2^62");
}

Status check_ids(const TensorView& selected_experts, std::int64_t experts, const Policy& policy) {
  if (selected_experts.data == nullptr) return {};  // VAL-9 follows
  const Elements<2> ids(selected_experts);
  for (std::int64_t t = 0; t < selected_experts.dim(0); ++t) {
    for (std::int64_t j = 0; j < selected_experts.dim(1); ++j) {
      const std::int64_t id = ids.integer({t, j});
      if (id >= 0 && id < experts) continue;
      if (policy.ids == Ids::kAbsent && id == -1) continue;
      return refuse(
          "selected_experts",
          "token " + std::to_string(t) + ", slot " + std::to_string(j) + ", id " + std::to_string(id),
          "VAL-8: every id is in 0.." + std::to_string(experts - 1) +
              (policy.ids == Ids::kAbsent ? " or is -1" : ""));
    }
  }
  return {};
}

ExpertLinearDims dims_of(const LinearInputs& inputs) {
  ExpertLinearDims dims;
  dims.tokens = inputs.latent_tokens.dim(0);
  dims.experts = inputs.weights.packed_weights.dim(0);
  dims.in = inputs.latent_tokens.dim(1);
  dims.groups = dims.in / kGroupSize;
  dims.out = inputs.weights.packed_weights.dim(1);
  dims.top_k = inputs.selected_experts.dim(1);
  return dims;
}

Status check_shapes(const LinearInputs& inputs, const ExpertLinearDims& d) {
  Status error = check_weight_shapes(inputs.weights, d.in);
  if (!error) error = check_shape("selected_experts", inputs.selected_experts, "[T,K]", {d.tokens, d.top_k});
  if (!error) error = check_shape("mixture_weights", inputs.mixture_weights, "[T,K]", {d.tokens, d.top_k});
  if (!error) error = check_shape("shared_output", inputs.shared_output, "[T,O]", {d.tokens, d.out});
  return error;
}

// output: null where there is none to check.
Result<ExpertLinearDims> validate(const LinearInputs& inputs, const MutableTensorView* output,
                                  const Policy& policy) {
  const std::array<Field, 6> fields = {
      {{"latent_tokens", inputs.latent_tokens, {2}, kFloatDtypes},
       packed_field(inputs.weights),
       scales_field(inputs.weights),
       {"selected_experts", inputs.selected_experts, {2}, {Dtype::kI32, Dtype::kI64}},
       {"mixture_weights", inputs.mixture_weights, {2}, kFloatDtypes},
       {"shared_output", inputs.shared_output, {2}, kFloatDtypes}}};
  if (Status error = check_ranks(fields)) return *error;
  if (Status error = check_dtypes(fields)) return *error;
  const ExpertLinearDims dims = dims_of(inputs);
  if (Status error = check_width(dims.in)) return *error;
  if (Status error = check_shapes(inputs, dims)) return *error;
  TensorView result = {inputs.latent_tokens.dtype, {dims.tokens, dims.out}};
  if (output != nullptr) {
    if (Status error = check_shape("output", *output, "[T,O]", result.shape)) return *error;
    if (Status error = check_output_dtype(*output, result.dtype)) return *error;
    result = *output;
  }
  if (Status error = check_sizes(fields, result)) return *error;
  if (Status error = check_product_count(dims)) return *error;
  if (Status error = check_no_overlap(fields, result)) return *error;
  if (Status error = check_ids(inputs.selected_experts, dims.experts, policy)) return *error;
  if (Status error = check_pointers(fields)) return *error;
  if (output != nullptr) {
    if (Status error = check_pointer("output", *output)) return *error;
  }
  return dims;
}

}  // namespace

Result<ExpertLinearDims> validate_expert_linear(const LinearInputs& inputs, const Policy& policy) {
  return validate(inputs, nullptr, policy);
}

Result<ExpertLinearDims> validate_with_output(const LinearInputs& inputs, const MutableTensorView& output,
                                              const Policy& policy) {
  return validate(inputs, &output, policy);
}

}  // namespace moe4
