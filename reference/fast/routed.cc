#include <utility>

#include "reference/fast/fast.h"
#include "reference/fast/rows.h"

namespace moe4::fast {
namespace {

template <class Inputs>
Result<std::vector<std::uint8_t>> run(const Result<RoutedRows>& rows, const Inputs& inputs,
                                      const MutableTensorView& output, const Policy& policy,
                                      Counters* counters) {
  if (!rows.ok()) return rows.error();
  const Counters used = fast_rows(rows.value(), inputs.weights, policy, output);
  if (counters != nullptr) *counters += used;
  return written_rows(rows.value());
}

RowsResult with_output(Tensor output, Result<std::vector<std::uint8_t>> written) {
  return {std::move(output), std::move(written).value()};
}

}  // namespace

Result<std::vector<std::uint8_t>> indexed(const IndexedInputs& inputs, MutableTensorView output,
                                          const Policy& policy, Counters* counters) {
  return run(indexed_rows(inputs, &output), inputs, output, policy, counters);
}

Result<RowsResult> indexed(const IndexedInputs& inputs, const Policy& policy, Counters* counters) {
  const Result<RowDims> dims = validate_indexed(inputs);
  if (!dims.ok()) return dims.error();
  Tensor output(Dtype::kBF16, {dims->rows, dims->out});
  auto written = indexed(inputs, output.mutable_view(), policy, counters);
  if (!written.ok()) return written.error();
  return with_output(std::move(output), std::move(written));
}

Result<std::vector<std::uint8_t>> grouped_contiguous(const GroupedContiguousInputs& inputs,
                                                     MutableTensorView output, const Policy& policy,
                                                     Counters* counters) {
  return run(grouped_contiguous_rows(inputs, &output), inputs, output, policy, counters);
}

Result<RowsResult> grouped_contiguous(const GroupedContiguousInputs& inputs, const Policy& policy,
                                      Counters* counters) {
  const Result<RowDims> dims = validate_grouped_contiguous(inputs);
  if (!dims.ok()) return dims.error();
  Tensor output(Dtype::kBF16, {dims->rows, dims->out});
  auto written = grouped_contiguous(inputs, output.mutable_view(), policy, counters);
  if (!written.ok()) return written.error();
  return with_output(std::move(output), std::move(written));
}

Result<std::vector<std::uint8_t>> grouped_masked(const GroupedMaskedInputs& inputs, MutableTensorView output,
                                                 const Policy& policy, Counters* counters) {
  return run(grouped_masked_rows(inputs, &output), inputs, output, policy, counters);
}

Result<RowsResult> grouped_masked(const GroupedMaskedInputs& inputs, const Policy& policy,
                                  Counters* counters) {
  const Result<GroupedMaskedDims> dims = validate_grouped_masked(inputs);
  if (!dims.ok()) return dims.error();
  Tensor output(Dtype::kBF16, {dims->experts, dims->max_m, dims->out});
  auto written = grouped_masked(inputs, output.mutable_view(), policy, counters);
  if (!written.ok()) return written.error();
  return with_output(std::move(output), std::move(written));
}

}  // namespace moe4::fast
