#include "reference/linear/rows.h"

#include <string>

#include "reference/linear/row_dot.h"
#include "reference/linear/store.h"

namespace moe4 {

TensorView by_blocks(const TensorView& latent_tokens, std::int64_t blocks, std::int64_t rows_a_block) {
  if (latent_tokens.rank() == 3) return latent_tokens;
  const Shape s = latent_tokens.strides_or_contiguous();
  const std::int64_t block_stride = blocks > 1 ? s[0] * rows_a_block : 0;
  return {latent_tokens.dtype,
          {blocks, rows_a_block, latent_tokens.dim(1)},
          latent_tokens.data,
          {block_stride, s[0], s[1]}};
}

std::vector<Field> fields_of(const RowCall& call) {
  std::vector<Field> fields = {{"latent_tokens", call.latent_tokens, call.token_ranks, {Dtype::kBF16}},
                               packed_field(call.weights),
                               scales_field(call.weights)};
  fields.insert(fields.end(), call.routing.begin(), call.routing.end());
  return fields;
}

Status check_ranks_dtypes_width(const RowCall& call) {
  const std::vector<Field> fields = fields_of(call);
  if (Status error = check_ranks(fields)) return error;
  if (Status error = check_dtypes(fields)) return error;
  return check_width(call.latent_tokens.shape.back());
}

Status check_output_and_memory(const RowCall& call, std::span<const NamedShape> shapes) {
  const std::vector<Field> fields = fields_of(call);
  TensorView output = {Dtype::kBF16, shapes[0].shape};
  if (call.output != nullptr) {
    Status error;
    for (const NamedShape& allowed : shapes) {
      error = check_shape("output", *call.output, allowed.letters, allowed.shape);
      if (!error) break;
    }
    if (error) return error;
    output = *call.output;
    if (output.dtype != Dtype::kBF16) {
      return refuse("output", std::string(name_of(output.dtype)), "VAL-5: the output has the dtype BF16");
    }
  }
  if (Status error = check_sizes(fields, output)) return error;
  if (Status error = check_no_overlap(fields, output)) return error;
  if (Status error = check_pointers(fields)) return error;
  if (call.output != nullptr) return check_pointer("output", output);
  return {};
}

void compute_rows(const RoutedRows& rows, const ExpertWeights& weights, const Policy& policy,
                  const MutableTensorView& output) {
  const WeightReader reader(weights, policy);
  const Elements<3> tokens(rows.tokens_by_blocks);
  const RowDims& dims = rows.dims;
  const auto count = static_cast<std::int64_t>(rows.rows.size()) * dims.out;
  const bool parallel = count >= kMinParallelProducts / dims.in;

  // LIN-9: outputs are independent of each other, so the number of threads changes no bit.
#pragma omp parallel if (parallel)
  {
    std::vector<ExactValue> x(static_cast<std::size_t>(dims.in));
    std::int64_t row_of_x = -1;
#pragma omp for schedule(static)
    for (std::int64_t index = 0; index < count; ++index) {
      const std::int64_t n = index / dims.out;
      const std::int64_t o = index % dims.out;
      const RoutedRow& row = rows.rows[static_cast<std::size_t>(n)];
      if (n != row_of_x) {
        for (std::int64_t i = 0; i < dims.in; ++i) {
          x[static_cast<std::size_t>(i)] = tokens.value({row.source[0], row.source[1], i});
        }
        row_of_x = n;
      }
      const DotSum y = row_dot(reader, row.expert, o, x);
      store(output, row.row * dims.out + o, y.round(kBF16));  // RTE-1, RTE-2: the one rounding
    }
  }
}

std::vector<std::uint8_t> written_rows(const RoutedRows& rows) {
  std::vector<std::uint8_t> written(static_cast<std::size_t>(rows.dims.rows), 0);
  for (const RoutedRow& row : rows.rows) written[static_cast<std::size_t>(row.row)] = 1;
  return written;
}

}  // namespace moe4
