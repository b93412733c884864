// CKP-9: compressed-tensors mxfp4-pack-quantized, as Kimi K3 stores it.
#include "oracle/file/checkpoint/matrix.h"
#include "reference/layout/layouts.h"

namespace moe4::oracle {

Result<StoredMatrix> mxfp4_module(CheckpointIndex& index, const std::string& module) {
  constexpr const char* kRule = "CKP-9";
  Result<StoredTensor> codes = tensor_of(index, module + "weight_packed", {"U8"}, {-1, -1}, kRule);
  if (!codes) return codes.error();
  const Shape bytes = codes->entry.shape;
  if (bytes[1] % 16 != 0) {
    return Error{codes->label, to_string(bytes), "CKP-9: shape [O, I/2], I a multiple of 32"};
  }
  // Bytes [O, I/2] are blocks [O, G, 16] (LAY-5).
  Result<WeightExtent> extent = extent_of(kRowMajor, *codes, {1, bytes[0], bytes[1] / 16, 16}, kRule);
  if (!extent) return extent.error();
  StoredMatrix matrix{&kRowMajor, *extent, 0, extent->out, std::move(*codes), {}};
  Result<StoredTensor> scales =
      tensor_of(index, module + "weight_scale", {"U8", "F8_E8M0"}, {extent->out, extent->groups()}, kRule);
  if (!scales) return scales.error();
  matrix.scales = std::move(*scales);
  return matrix;
}

}  // namespace moe4::oracle
