// CKP-8: compressed-tensors pack-quantized INT4, as Kimi K2 stores it.
#include <array>
#include <cstring>

#include "oracle/file/checkpoint/matrix.h"
#include "reference/layout/layouts.h"

namespace moe4::oracle {
namespace {

constexpr const char* kRule = "CKP-8";

// The two whole numbers of weight_shape.
Result<std::array<std::int64_t, 2>> shape_of(CheckpointIndex& index, const std::string& name) {
  Result<StoredTensor> tensor = tensor_of(index, name, {"I32", "I64"}, {2}, kRule);
  if (!tensor) return tensor.error();
  if (Status status = tensor->file->check_whole()) return *status;
  std::array<std::int64_t, 2> shape;
  if (tensor->entry.dtype == Dtype::kI64) {
    std::memcpy(shape.data(), tensor->data, sizeof shape);
    return shape;
  }
  std::array<std::int32_t, 2> narrow;
  std::memcpy(narrow.data(), tensor->data, sizeof narrow);
  return std::array<std::int64_t, 2>{narrow[0], narrow[1]};
}

}  // namespace

Result<StoredMatrix> int4_module(CheckpointIndex& index, const std::string& module) {
  Result<StoredTensor> codes = tensor_of(index, module + "weight_packed", {"I32"}, {-1, -1}, kRule);
  if (!codes) return codes.error();
  const Shape words = codes->entry.shape;
  Result<WeightExtent> extent = extent_of(kCompressedTensors, *codes, {1, words[0], words[1]}, kRule);
  if (!extent) return extent.error();
  StoredMatrix matrix{&kCompressedTensors, *extent, 0, extent->out, std::move(*codes), {}};
  Result<StoredTensor> scales =
      tensor_of(index, module + "weight_scale", {"BF16"}, {extent->out, extent->groups()}, kRule);
  if (!scales) return scales.error();
  matrix.scales = std::move(*scales);
  Result<std::array<std::int64_t, 2>> shape = shape_of(index, module + "weight_shape");
  if (!shape) return shape.error();
  if ((*shape)[0] == extent->out && (*shape)[1] == extent->in) return matrix;
  return Error{index.label(module + "weight_shape"), to_string(*shape),
               "CKP-8: O and I of weight_packed, " + to_string(Shape{extent->out, extent->in})};
}

}  // namespace moe4::oracle
