#include "oracle/file/checkpoint/matrix.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "reference/layout/repack.h"

namespace moe4::oracle {

Result<StoredTensor> tensor_of(CheckpointIndex& index, const std::string& name,
                               std::initializer_list<std::string_view> dtypes, const Shape& shape,
                               const char* rule) {
  Result<StoredTensor> tensor = index.tensor(name);
  if (!tensor) return tensor;
  const TensorEntry& entry = tensor->entry;
  if (std::find(dtypes.begin(), dtypes.end(), entry.stored_dtype) == dtypes.end()) {
    return Error{tensor->label, entry.stored_dtype,
                 fmt::format("{}: dtype {}", rule, fmt::join(dtypes, " or "))};
  }
  bool fits = entry.shape.size() == shape.size();
  for (std::size_t n = 0; fits && n < shape.size(); ++n) fits = shape[n] == -1 || shape[n] == entry.shape[n];
  if (fits) return tensor;
  std::vector<std::string> due;
  for (const std::int64_t d : shape) due.push_back(d == -1 ? "*" : std::to_string(d));
  return Error{tensor->label, to_string(entry.shape),
               fmt::format("{}: shape [{}]", rule, fmt::join(due, ","))};
}

Result<WeightExtent> extent_of(const WeightLayout& layout, const StoredTensor& codes, const Shape& shape,
                               const char* rule) {
  const std::optional<WeightExtent> extent = layout.extent(shape);
  if (!extent) return Error{codes.label, to_string(codes.entry.shape), std::string(rule) + ": too large"};
  Status legal = check_extent(layout, *extent);
  if (!legal) return *extent;
  return Error{codes.label, to_string(codes.entry.shape),
               fmt::format("{}: {} {}: {}", rule, legal->field, legal->value, legal->rule)};
}

Status copy_rows(const StoredMatrix& matrix, std::byte* codes, std::byte* scales) {
  for (const StoredTensor* tensor : {&matrix.codes, &matrix.scales}) {
    if (Status status = tensor->file->check_whole()) return status;
  }
  const WeightLayout& layout = *matrix.layout;
  const auto code_bytes = static_cast<std::size_t>(matrix.whole.in / 2);
  const std::size_t scale_size = size_of(layout.scale_dtype);
  const std::size_t scale_bytes = static_cast<std::size_t>(matrix.whole.groups()) * scale_size;
  // LAY-5, LAY-7, LAY-8: in the layouts of checkpoints a row is one run of bytes in both tensors.
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    const std::int64_t o = matrix.first_row + row;
    const auto at = static_cast<std::size_t>(row);
    std::memcpy(codes + at * code_bytes,
                matrix.codes.data + byte_of(layout, layout.code_at(matrix.whole, 0, o, 0)), code_bytes);
    std::memcpy(
        scales + at * scale_bytes,
        matrix.scales.data + static_cast<std::size_t>(layout.scale_at(matrix.whole, 0, o, 0)) * scale_size,
        scale_bytes);
  }
  return {};
}

}  // namespace moe4::oracle
