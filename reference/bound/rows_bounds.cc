// indexed, grouped_contiguous, grouped_masked: a row is one dot product, rounded (BND-17).
#include "reference/bound/bounds.h"
#include "reference/bound/dot_pass.h"
#include "reference/bound/interval.h"
#include "reference/linear/row_dot.h"

namespace moe4 {
namespace {

// The exact dot product of each routed row with one row of weights, RTE-1.
ExactOutput exact_row(const DotSum& dot) {
  OutputSum sum;
  sum.add_product(ExactValue::finite(false, 1, 0), dot);
  return {sum, false};
}

Result<OutputBounds> rows_bounds(const Result<RoutedRows>& routed, const ExpertWeights& expert_weights,
                                 const Policy& policy, const Arithmetic& arithmetic) {
  if (!routed.ok()) return routed.error();
  const RowDims& dims = routed->dims;
  const std::vector<RoutedRow>& rows = routed->rows;
  if (Status error = refuse_width(dims.in)) return *error;
  if (Status error = refuse_arithmetic(arithmetic)) return *error;

  std::vector<DotUse> uses;
  std::vector<std::array<std::int64_t, 2>> operands;
  for (const RoutedRow& row : rows) {
    if (operands.empty() || operands.back() != row.source) operands.push_back(row.source);
    uses.push_back({row.expert, operands.size() - 1});
  }

  OutputBounds result;
  result.rows = dims.rows;
  result.out = dims.out;
  result.outputs.resize(static_cast<std::size_t>(dims.rows * dims.out));
  result.written.resize(static_cast<std::size_t>(dims.rows), 0);
  for (const RoutedRow& row : rows) result.written[static_cast<std::size_t>(row.row)] = 1;

  const WeightReader weights(expert_weights, policy);
  const Elements<3> tokens(routed->tokens_by_blocks);
  const AccumulationFormat format = accumulation_format(Dtype::kBF16, arithmetic);
  const DotPass pass = {weights, tokens, operands, uses, dims.in, dims.out, format, arithmetic};
  bound_dots(pass, [&](std::int64_t first, int count, std::span<const DotBlock> dots) {
    std::vector<ExactValue> x(static_cast<std::size_t>(dims.in));
    for (std::size_t n = 0; n < rows.size(); ++n) {
      const RoutedRow& row = rows[n];
      for (std::int64_t i = 0; i < dims.in; ++i) {
        x[static_cast<std::size_t>(i)] = tokens.value({row.source[0], row.source[1], i});
      }
      for (int r = 0; r < count; ++r) {
        const std::int64_t o = first + r;
        OutputBound bound = OutputBound::of_row(dots[n].bound[static_cast<std::size_t>(r)]);
        result.outputs[static_cast<std::size_t>(row.row * dims.out + o)] =
            interval(exact_row(row_dot(weights, row.expert, o, x)), bound, 0.0, Dtype::kBF16, format);
      }
    }
  });
  count_singletons(result);
  return result;
}

}  // namespace

Result<OutputBounds> indexed_bounds(const IndexedInputs& inputs, const Policy& policy,
                                    const Arithmetic& arithmetic) {
  return rows_bounds(indexed_rows(inputs), inputs.weights, policy, arithmetic);
}

Result<OutputBounds> grouped_contiguous_bounds(const GroupedContiguousInputs& inputs, const Policy& policy,
                                               const Arithmetic& arithmetic) {
  return rows_bounds(grouped_contiguous_rows(inputs), inputs.weights, policy, arithmetic);
}

Result<OutputBounds> grouped_masked_bounds(const GroupedMaskedInputs& inputs, const Policy& policy,
                                           const Arithmetic& arithmetic) {
  return rows_bounds(grouped_masked_rows(inputs), inputs.weights, policy, arithmetic);
}

}  // namespace moe4
