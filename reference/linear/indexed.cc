#include "reference/linear/indexed.h"

#include <algorithm>
#include <limits>
#include <string>

namespace moe4 {
namespace {

RowDims dims_of(const IndexedInputs& inputs) {
  RowDims dims;
  dims.rows = saturating_product(inputs.latent_tokens.dim(0), std::max<std::int64_t>(inputs.top_k, 0));
  dims.experts = inputs.weights.packed_weights.dim(0);
  dims.in = inputs.latent_tokens.dim(1);
  dims.out = inputs.weights.packed_weights.dim(1);
  return dims;
}

// RTE-7 up to the ids themselves.
Status check_numbers(const IndexedInputs& inputs, const RowDims& dims) {
  if (inputs.top_k < 1) {
    return refuse("top_k", std::to_string(inputs.top_k), "RTE-7: top_k is at least 1");
  }
  if (inputs.block_m < 1) {
    return refuse("block_m", std::to_string(inputs.block_m), "RTE-7: block_m is at least 1");
  }
  if (inputs.valid_shape_m < 0) {
    return refuse("valid_shape_m", std::to_string(inputs.valid_shape_m),
                  "RTE-7: valid_shape_m is not negative");
  }
  if (dims.rows > std::numeric_limits<std::int32_t>::max()) {
    return refuse("top_k", std::to_string(inputs.top_k),
                  "RTE-7: M * top_k is at most 2^31 - 1, so that an I32 can name every row and a sentinel");
  }
  const ActiveIds active(inputs);
  const std::int64_t capacity = inputs.sorted_ids.dim(0);
  if (active.count < 0 || active.count > capacity) {
    return refuse("num_tokens_padded", std::to_string(active.count),
                  "RTE-7: the count is in 0.." + std::to_string(capacity) + ", the capacity of sorted_ids");
  }
  if (inputs.expert_ids.dim(0) < active.blocks) {
    return refuse(
        "expert_ids", to_string(inputs.expert_ids.shape),
        "RTE-7: there is an expert for each of the " + std::to_string(active.blocks) + " active blocks");
  }
  return {};
}

// The rows that the active ids name (RTE-5), or the first id that RTE-7 refuses.
Result<std::vector<RoutedRow>> rows_of(const IndexedInputs& inputs, const RowDims& dims) {
  std::vector<RoutedRow> rows;
  std::vector<std::uint8_t> named(static_cast<std::size_t>(dims.rows), 0);
  const ActiveIds active(inputs);
  for (std::int64_t r = 0; r < active.count; ++r) {
    const std::int64_t id = active.sorted_ids.integer({r});
    if (id >= dims.rows) continue;  // a sentinel
    const std::string where = "position " + std::to_string(r) + ", id " + std::to_string(id);
    if (id < 0) {
      return refuse("sorted_ids", where, "RTE-7: no id is negative; a sentinel is M * top_k or more");
    }
    if (named[static_cast<std::size_t>(id)] != 0) {
      return refuse("sorted_ids", where, "RTE-7: no row is named twice; this is a duplicate");
    }
    named[static_cast<std::size_t>(id)] = 1;
    const std::int64_t block = r / inputs.block_m;
    const std::int64_t expert = active.expert_ids.integer({block});
    if (expert < 0 || expert >= dims.experts) {
      return refuse("expert_ids", "block " + std::to_string(block) + ", expert " + std::to_string(expert),
                    "RTE-7: the expert of a row is in 0.." + std::to_string(dims.experts - 1));
    }
    rows.push_back({id, expert, {0, id / inputs.top_k}});
  }
  return rows;
}

}  // namespace

Result<RoutedRows> indexed_rows(const IndexedInputs& inputs, const MutableTensorView* output) {
  const RowCall call = {inputs.latent_tokens,
                        inputs.weights,
                        {2},
                        {{"sorted_ids", inputs.sorted_ids, {1}, {Dtype::kI32}},
                         {"expert_ids", inputs.expert_ids, {1}, {Dtype::kI32}},
                         {"num_tokens_padded", inputs.num_tokens_padded, {0, 1}, {Dtype::kI32}}},
                        output};
  if (Status error = check_ranks_dtypes_width(call)) return *error;
  if (Status error = check_weight_shapes(inputs.weights, inputs.latent_tokens.dim(1))) return *error;
  const RowDims dims = dims_of(inputs);
  if (inputs.num_tokens_padded.rank() == 1) {
    if (Status error = check_shape("num_tokens_padded", inputs.num_tokens_padded, "[1]", {1})) return *error;
  }
  const NamedShape shape = {"[M*top_k,O]", {dims.rows, dims.out}};
  if (Status error = check_output_and_memory(call, {&shape, 1})) return *error;
  if (Status error = check_numbers(inputs, dims)) return *error;
  Result<std::vector<RoutedRow>> rows = rows_of(inputs, dims);
  if (!rows.ok()) return rows.error();
  return RoutedRows{dims, by_blocks(inputs.latent_tokens, 1, inputs.latent_tokens.dim(0)),
                    std::move(rows).value()};
}

ActiveIds::ActiveIds(const IndexedInputs& inputs)
    : count(Elements<0>(inputs.num_tokens_padded).integer({})),
      blocks(count / inputs.block_m + (count % inputs.block_m != 0 ? 1 : 0)),
      sorted_ids(inputs.sorted_ids),
      expert_ids(inputs.expert_ids) {}

Result<RowDims> validate_indexed(const IndexedInputs& inputs) {
  const Result<RoutedRows> planned = indexed_rows(inputs);
  if (!planned.ok()) return planned.error();
  return planned->dims;
}

Result<std::vector<std::uint8_t>> indexed(const IndexedInputs& inputs, MutableTensorView output,
                                          const Policy& policy) {
  const Result<RoutedRows> planned = indexed_rows(inputs, &output);
  if (!planned.ok()) return planned.error();
  compute_rows(planned.value(), inputs.weights, policy, output);
  return written_rows(planned.value());
}

Result<RowsResult> indexed(const IndexedInputs& inputs, const Policy& policy) {
  const Result<RowDims> dims = validate_indexed(inputs);
  if (!dims.ok()) return dims.error();
  RowsResult result{Tensor(Dtype::kBF16, {dims->rows, dims->out}), {}};
  Result<std::vector<std::uint8_t>> written = indexed(inputs, result.output.mutable_view(), policy);
  if (!written.ok()) return written.error();
  result.written = std::move(written).value();
  return result;
}

}  // namespace moe4
