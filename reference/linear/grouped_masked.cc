#include "reference/linear/grouped_masked.h"

#include <array>
#include <string>

namespace moe4 {
namespace {

struct Plan {
  GroupedMaskedDims dims;
  std::vector<RoutedRow> rows;
};

// RTE-10, RTE-11: max_m of either shape.
Result<GroupedMaskedDims> dims_of(const GroupedMaskedInputs& inputs) {
  const TensorView& tokens = inputs.latent_tokens;
  GroupedMaskedDims dims;
  dims.experts = inputs.weights.packed_weights.dim(0);
  dims.in = tokens.shape.back();
  dims.out = inputs.weights.packed_weights.dim(1);
  if (tokens.rank() == 3) {
    dims.max_m = tokens.dim(1);
    dims.rows = saturating_product(dims.experts, dims.max_m);
    if (Status error =
            check_shape("latent_tokens", tokens, "[E,max_m,I]", {dims.experts, dims.max_m, dims.in})) {
      return *error;
    }
    return dims;
  }
  dims.rows = tokens.dim(0);
  const bool divides = dims.experts > 0 ? dims.rows % dims.experts == 0 : dims.rows == 0;
  if (!divides) {
    return refuse("latent_tokens", to_string(tokens.shape),
                  "VAL-4: the shape is [E*max_m,I]: E = " + std::to_string(dims.experts) +
                      " divides the number of rows (RTE-11)");
  }
  dims.max_m = dims.experts > 0 ? dims.rows / dims.experts : 0;
  return dims;
}

Result<Plan> plan(const GroupedMaskedInputs& inputs, const MutableTensorView* output) {
  const RowCall call = {inputs.latent_tokens,
                        inputs.weights,
                        {2, 3},
                        {{"masked_m", inputs.masked_m, {1}, {Dtype::kI32}}},
                        output};
  if (Status error = check_ranks_dtypes_width(call)) return *error;
  const Result<GroupedMaskedDims> sizes = dims_of(inputs);
  if (!sizes.ok()) return sizes.error();
  if (Status error = check_weight_shapes(inputs.weights, sizes->in)) return *error;
  Plan plan;
  plan.dims = sizes.value();
  const GroupedMaskedDims& dims = plan.dims;
  if (Status error = check_shape("masked_m", inputs.masked_m, "[E]", {dims.experts})) return *error;
  std::array<NamedShape, 2> shapes = {
      {{"[E,max_m,O]", {dims.experts, dims.max_m, dims.out}}, {"[E*max_m,O]", {dims.rows, dims.out}}}};
  if (output != nullptr && output->shape.size() == 3) std::swap(shapes[0], shapes[1]);  // names the likelier
  if (Status error = check_output_and_memory(call, shapes)) return *error;

  if (inputs.expected_m < 1) {
    return refuse("expected_m", std::to_string(inputs.expected_m), "RTE-12: expected_m is at least 1");
  }
  const Elements<1> masked_m(inputs.masked_m);
  for (std::int64_t e = 0; e < dims.experts; ++e) {
    const std::int64_t count = masked_m.integer({e});
    if (count < 0 || count > dims.max_m) {
      return refuse("masked_m", "expert " + std::to_string(e) + ", count " + std::to_string(count),
                    "RTE-12: every count is in 0..max_m = " + std::to_string(dims.max_m));
    }
    for (std::int64_t r = 0; r < count; ++r) plan.rows.push_back({e * dims.max_m + r, e, {e, r}});
  }
  return plan;
}

}  // namespace

Result<GroupedMaskedDims> validate_grouped_masked(const GroupedMaskedInputs& inputs) {
  const Result<Plan> planned = plan(inputs, nullptr);
  if (!planned.ok()) return planned.error();
  return planned->dims;
}

Result<RoutedRows> grouped_masked_rows(const GroupedMaskedInputs& inputs, const MutableTensorView* output) {
  Result<Plan> planned = plan(inputs, output);
  if (!planned.ok()) return planned.error();
  const GroupedMaskedDims& dims = planned->dims;
  return RoutedRows{dims, by_blocks(inputs.latent_tokens, dims.experts, dims.max_m),
                    std::move(planned->rows)};
}

Result<std::vector<std::uint8_t>> grouped_masked(const GroupedMaskedInputs& inputs, MutableTensorView output,
                                                 const Policy& policy) {
  const Result<RoutedRows> planned = grouped_masked_rows(inputs, &output);
  if (!planned.ok()) return planned.error();
  compute_rows(planned.value(), inputs.weights, policy, output);
  return written_rows(planned.value());
}

Result<RowsResult> grouped_masked(const GroupedMaskedInputs& inputs, const Policy& policy) {
  const Result<GroupedMaskedDims> dims = validate_grouped_masked(inputs);
  if (!dims.ok()) return dims.error();
  RowsResult result{Tensor(Dtype::kBF16, {dims->experts, dims->max_m, dims->out}), {}};
  Result<std::vector<std::uint8_t>> written = grouped_masked(inputs, result.output.mutable_view(), policy);
  if (!written.ok()) return written.error();
  result.written = std::move(written).value();
  return result;
}

}  // namespace moe4
