// CKP-10: blocks and scales of all experts in one tensor each, as gpt-oss stores them.
#include "oracle/file/checkpoint/matrix.h"
#include "reference/layout/layouts.h"

namespace moe4::oracle {
namespace {

constexpr const char* kRule = "CKP-10";

std::string name_of_tensor(const ExpertLayer& layer, Projection projection, const char* part) {
  const bool down = projection == Projection::kDown;
  if (layer.naming == Naming::kStackedMlp)
    return layer.stem + (down ? "mlp2_weight." : "mlp1_weight.") + part;
  return layer.stem + (down ? "down_proj_" : "gate_up_proj_") + part;
}

Result<StoredTensor> blocks_of(CheckpointIndex& index, const ExpertLayer& layer, Projection projection) {
  return tensor_of(index, name_of_tensor(layer, projection, "blocks"), {"U8"}, {-1, -1, -1, 16}, kRule);
}

}  // namespace

Result<std::int64_t> gpt_oss_experts(CheckpointIndex& index, const ExpertLayer& layer,
                                     Projection projection) {
  Result<StoredTensor> blocks = blocks_of(index, layer, projection);
  if (!blocks) return blocks.error();
  return blocks->entry.shape[0];
}

Result<StoredMatrix> gpt_oss_matrix(CheckpointIndex& index, const ExpertLayer& layer, Projection projection,
                                    std::int64_t expert) {
  Result<StoredTensor> blocks = blocks_of(index, layer, projection);
  if (!blocks) return blocks.error();
  const Shape shape = blocks->entry.shape;
  // mlp1: gate and up rows alternate (LAY-7).
  const WeightLayout& layout_of_rows = projection == Projection::kDown ? kRowMajor : kGptOss;
  Result<WeightExtent> extent = extent_of(layout_of_rows, *blocks, shape, kRule);
  if (!extent) return extent.error();
  StoredMatrix matrix{&layout_of_rows, {1, extent->out, extent->in}, 0, 0, std::move(*blocks), {}};
  const std::int64_t half = extent->out / 2;
  const bool one = projection == Projection::kGate || projection == Projection::kUp;
  matrix.first_row = projection == Projection::kUp ? half : 0;
  matrix.rows = one ? half : extent->out;
  Result<StoredTensor> scales = tensor_of(index, name_of_tensor(layer, projection, "scales"),
                                          {"U8", "F8_E8M0"}, {shape[0], shape[1], shape[2]}, kRule);
  if (!scales) return scales.error();
  matrix.scales = std::move(*scales);
  matrix.codes.data += expert * shape[1] * shape[2] * shape[3];
  matrix.scales.data += expert * shape[1] * shape[2];
  return matrix;
}

}  // namespace moe4::oracle
