#include "oracle/case/declared_outputs.h"

namespace moe4::oracle {
namespace {

Result<RoutedRows> routed_rows(const CaseData& data) {
  if (data.op == Op::kIndexed) return indexed_rows(data.indexed());
  if (data.op == Op::kGroupedContiguous) return grouped_contiguous_rows(data.grouped_contiguous());
  return grouped_masked_rows(data.grouped_masked());
}

std::vector<std::int64_t> indices_of(const RoutedRows& rows) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(rows.dims.rows), -1);
  for (std::size_t n = 0; n < rows.rows.size(); ++n) {
    index[static_cast<std::size_t>(rows.rows[n].row)] = static_cast<std::int64_t>(n);
  }
  return index;
}

}  // namespace

Result<DeclaredOutputs> DeclaredOutputs::create(const CaseData& data, const Arithmetic& arithmetic) {
  if (data.op == Op::kExpertLinear) {
    Result<DeclaredLinear> kernel = DeclaredLinear::create(data.linear(), arithmetic, data.policy);
    if (!kernel.ok()) return kernel.error();
    return DeclaredOutputs(std::move(*kernel), {});
  }
  if (data.op == Op::kCombine) {
    Result<DeclaredCombine> kernel =
        DeclaredCombine::create(data.combine(), data.output_dtype, arithmetic, data.policy);
    if (!kernel.ok()) return kernel.error();
    return DeclaredOutputs(std::move(*kernel), {});
  }
  const Result<RoutedRows> rows = routed_rows(data);
  if (!rows.ok()) return rows.error();
  Result<DeclaredRows> kernel = DeclaredRows::create(*rows, data.expert_weights(), arithmetic, data.policy);
  if (!kernel.ok()) return kernel.error();
  return DeclaredOutputs(std::move(*kernel), indices_of(*rows));
}

std::uint64_t DeclaredOutputs::output(std::int64_t row, std::int64_t out) const {
  const std::int64_t n = index_of_row_.empty() ? row : index_of_row_[static_cast<std::size_t>(row)];
  return std::visit([&](const auto& kernel) { return kernel.output(n, out); }, kernel_);
}

}  // namespace moe4::oracle
