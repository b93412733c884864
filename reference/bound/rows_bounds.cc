// indexed, grouped_contiguous, grouped_masked: a row is one dot product, rounded (BND-17).
#include "reference/bound/bounds.h"
#include "reference/bound/directed.h"
#include "reference/bound/dot_pass.h"
#include "reference/bound/interval.h"

namespace moe4 {
namespace {

LastSum row_of(const DotBound& dot, bool finite, const AccumulationFormat& format) {
  LastSum y;
  y.exact = dot.value;
  y.slack = dot.slack;
  y.below = dot.below;
  y.above = dot.above;
  y.lo = sum_down(dot.value, -dot.below);
  y.hi = sum_up(dot.value, dot.above);
  y.may_overflow = dot.overflow || (!finite && (format.ftz || format.scales_sums));  // BND-12, BND-13
  return y;
}

Result<OutputBounds> rows_bounds(const Result<RoutedRows>& routed, const ExpertWeights& weights,
                                 const Policy& policy, const Arithmetic& arithmetic) {
  if (!routed.ok()) return routed.error();
  const RowDims& dims = routed->dims;
  const std::vector<RoutedRow>& rows = routed->rows;
  if (Status error = refuse_width(dims.in)) return *error;
  if (Status error = refuse_arithmetic(arithmetic, weights.format, Dtype::kBF16)) return *error;

  std::vector<DotUse> uses;
  std::vector<std::array<std::int64_t, 2>> sources;
  for (const RoutedRow& row : rows) {
    if (sources.empty() || sources.back() != row.source) sources.push_back(row.source);
    uses.push_back({row.expert, sources.size() - 1});
  }

  OutputBounds result;
  result.rows = dims.rows;
  result.out = dims.out;
  result.outputs.resize(static_cast<std::size_t>(dims.rows * dims.out));
  result.written.resize(static_cast<std::size_t>(dims.rows), 0);
  for (const RoutedRow& row : rows) result.written[static_cast<std::size_t>(row.row)] = 1;

  const Elements<3> tokens(routed->tokens_by_blocks);
  const AccumulationFormat format = accumulation_format(Dtype::kBF16, arithmetic);
  const auto read = [&](std::size_t operand, std::span<ExactValue> row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = tokens.value({sources[operand][0], sources[operand][1], static_cast<std::int64_t>(i)});
    }
  };
  const bool exact = arithmetic.accumulation.kind == Accumulation::Kind::kExact;
  bound_dots(
      {weights, policy, arithmetic, format, Dtype::kBF16, dims.in, dims.out, uses, sources.size(), read},
      [&](RowsOfDots& block) {
        for (std::size_t n = 0; n < rows.size(); ++n) {
          for (int r = 0; r < block.count; ++r) {
            const auto at = static_cast<std::size_t>(r);
            const DotBlock& dots = block.dots[n];
            const std::int64_t index = rows[n].row * dims.out + block.first + r;
            result.outputs[static_cast<std::size_t>(index)] =
                interval({Dtype::kBF16, exact, false, dots.finite[at]},
                         row_of(dots.bound[at], dots.finite[at], format), [&] {
                           OutputSum sum;
                           sum.add_product(ExactValue::finite(false, 1, 0), block.exact(n, r));
                           return ExactOutput(sum, false);
                         });
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
