#include "reference/linear/grouped_contiguous.h"

#include <string>

namespace moe4 {

Result<RoutedRows> grouped_contiguous_rows(const GroupedContiguousInputs& inputs,
                                           const MutableTensorView* output) {
  const RowCall call = {inputs.latent_tokens,
                        inputs.weights,
                        {2},
                        {{"m_indices", inputs.m_indices, {1}, {Dtype::kI32}}},
                        output};
  if (Status error = check_ranks_dtypes_width(call)) return *error;
  if (Status error = check_weight_shapes(inputs.weights, inputs.latent_tokens.dim(1))) return *error;
  const TensorView& packed = inputs.weights.packed_weights;
  RoutedRows plan;
  plan.dims = {inputs.latent_tokens.dim(0), packed.dim(0), inputs.latent_tokens.dim(1), packed.dim(1)};
  const RowDims& dims = plan.dims;
  if (Status error = check_shape("m_indices", inputs.m_indices, "[m]", {dims.rows})) return *error;
  const NamedShape shape = {"[m,O]", {dims.rows, dims.out}};
  if (Status error = check_output_and_memory(call, {&shape, 1})) return *error;

  const Elements<1> m_indices(inputs.m_indices);
  for (std::int64_t r = 0; r < dims.rows; ++r) {
    const std::int64_t expert = m_indices.integer({r});
    if (expert == -1) continue;  // RTE-8: padding
    if (expert < 0 || expert >= dims.experts) {
      return refuse("m_indices", "row " + std::to_string(r) + ", expert " + std::to_string(expert),
                    "RTE-9: every index is in -1.." + std::to_string(dims.experts - 1));
    }
    plan.rows.push_back({r, expert, {0, r}});
  }
  plan.tokens_by_blocks = by_blocks(inputs.latent_tokens, 1, dims.rows);
  return plan;
}

Result<RowDims> validate_grouped_contiguous(const GroupedContiguousInputs& inputs) {
  const Result<RoutedRows> planned = grouped_contiguous_rows(inputs);
  if (!planned.ok()) return planned.error();
  return planned->dims;
}

Result<std::vector<std::uint8_t>> grouped_contiguous(const GroupedContiguousInputs& inputs,
                                                     MutableTensorView output, const Policy& policy) {
  const Result<RoutedRows> planned = grouped_contiguous_rows(inputs, &output);
  if (!planned.ok()) return planned.error();
  compute_rows(planned.value(), inputs.weights, policy, output);
  return written_rows(planned.value());
}

Result<RowsResult> grouped_contiguous(const GroupedContiguousInputs& inputs, const Policy& policy) {
  const Result<RowDims> dims = validate_grouped_contiguous(inputs);
  if (!dims.ok()) return dims.error();
  RowsResult result{Tensor(Dtype::kBF16, {dims->rows, dims->out}), {}};
  Result<std::vector<std::uint8_t>> written =
      grouped_contiguous(inputs, result.output.mutable_view(), policy);
  if (!written.ok()) return written.error();
  result.written = std::move(written).value();
  return result;
}

}  // namespace moe4
