#include "reference/linear/combine.h"

#include <string>
#include <vector>

#include "reference/arithmetic/product.h"
#include "reference/formats/elements.h"
#include "reference/linear/checks.h"
#include "reference/linear/store.h"

namespace moe4 {
namespace {

std::vector<Field> fields_of(const CombineInputs& inputs) {
  std::vector<Field> fields = {{"rows", inputs.rows, {2}, {Dtype::kBF16}},
                               {"mixture_weights", inputs.mixture_weights, {2}, kFloatDtypes}};
  if (inputs.selected_experts) {
    fields.push_back({"selected_experts", *inputs.selected_experts, {2}, {Dtype::kI32, Dtype::kI64}});
  }
  fields.push_back({"shared_output", inputs.shared_output, {2}, kFloatDtypes});
  return fields;
}

Status check_shapes(const CombineInputs& inputs, const CombineDims& d) {
  const std::int64_t rows = saturating_product(d.tokens, d.top_k);
  Status error = check_shape("rows", inputs.rows, "[T*K,O]", {rows, d.out});
  if (!error && inputs.selected_experts) {
    error = check_shape("selected_experts", *inputs.selected_experts, "[T,K]", {d.tokens, d.top_k});
  }
  if (!error) error = check_shape("shared_output", inputs.shared_output, "[T,O]", {d.tokens, d.out});
  return error;
}

Status check_float(Dtype dtype) {
  if (is_float(dtype)) return {};
  return refuse("output", std::string(name_of(dtype)), "VAL-5: the output has a float dtype");
}

Status check_ids(const CombineInputs& inputs, const CombineDims& dims) {
  if (!inputs.selected_experts) return {};
  const Elements<2> ids(*inputs.selected_experts);
  for (std::int64_t t = 0; t < dims.tokens; ++t) {
    for (std::int64_t j = 0; j < dims.top_k; ++j) {
      const std::int64_t id = ids.integer({t, j});
      if (id >= -1) continue;
      return refuse(
          "selected_experts",
          "token " + std::to_string(t) + ", slot " + std::to_string(j) + ", id " + std::to_string(id),
          "RTE-15: every id is -1 or more");
    }
  }
  return {};
}

}  // namespace

Result<CombineDims> validate_combine(const CombineInputs& inputs, const MutableTensorView* output) {
  const std::vector<Field> fields = fields_of(inputs);
  if (Status error = check_ranks(fields)) return *error;
  if (Status error = check_dtypes(fields)) return *error;
  const CombineDims dims = {inputs.mixture_weights.dim(0), inputs.mixture_weights.dim(1), inputs.rows.dim(1)};
  if (Status error = check_shapes(inputs, dims)) return *error;
  TensorView result = {inputs.shared_output.dtype, {dims.tokens, dims.out}};
  if (output != nullptr) {
    if (Status error = check_shape("output", *output, "[T,O]", result.shape)) return *error;
    if (Status error = check_float(output->dtype)) return *error;
    result = *output;
  }
  if (Status error = check_sizes(fields, result)) return *error;
  if (Status error = check_no_overlap(fields, result)) return *error;
  if (Status error = check_pointers(fields)) return *error;
  if (output != nullptr) {
    if (Status error = check_pointer("output", *output)) return *error;
  }
  if (Status error = check_ids(inputs, dims)) return *error;
  return dims;
}

std::vector<Slot> combine_slots(const CombineInputs& inputs, std::int64_t t, const Policy& policy) {
  Policy with_absent = policy;  // RTE-14: whatever the policy `ids`
  with_absent.ids = Ids::kAbsent;
  if (inputs.selected_experts) {
    return contributing_slots(*inputs.selected_experts, inputs.mixture_weights, t, with_absent);
  }
  const std::int64_t zero = 0;
  const TensorView present = {Dtype::kI64, inputs.mixture_weights.shape, &zero, {0, 0}};
  return contributing_slots(present, inputs.mixture_weights, t, with_absent);
}

ExactOutput CombineTerms::output(const std::vector<Slot>& slots, std::int64_t t, std::int64_t o) const {
  const ExactValue s = shared.value({t, o});
  OutputSum sum;
  sum.add(s);
  for (const Slot& slot : slots) sum.add(product(slot.p, rows.value({t * top_k + slot.j, o})));
  const bool minus_zero = slots.empty() && s.is_zero() && s.negative;  // LIN-7
  return ExactOutput(sum, minus_zero);
}

Status combine(const CombineInputs& inputs, MutableTensorView output, const Policy& policy) {
  const Result<CombineDims> dims = validate_combine(inputs, &output);
  if (!dims.ok()) return dims.error();
  const CombineTerms terms(inputs);
  const bool parallel = dims->tokens * dims->out >= kMinParallelProducts / (dims->top_k + 1);

#pragma omp parallel for schedule(static) if (parallel)
  for (std::int64_t t = 0; t < dims->tokens; ++t) {
    const std::vector<Slot> slots = combine_slots(inputs, t, policy);
    for (std::int64_t o = 0; o < dims->out; ++o) {
      const ExactOutput y = terms.output(slots, t, o);
      store(output, t * dims->out + o, y.round(output.dtype));  // RTE-13: the one rounding
    }
  }
  return {};
}

Result<Tensor> combine(const CombineInputs& inputs, Dtype output_dtype, const Policy& policy) {
  const Result<CombineDims> dims = validate_combine(inputs);
  if (!dims.ok()) return dims.error();
  if (Status error = check_float(output_dtype)) return *error;
  Tensor output(output_dtype, {dims->tokens, dims->out});
  if (Status error = combine(inputs, output.mutable_view(), policy)) return *error;
  return output;
}

}  // namespace moe4
