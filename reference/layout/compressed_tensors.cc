// LAY-8: INT4 as this project's cases and compressed-tensors checkpoints (pack-quantized) hold it.
#include "reference/layout/layouts.h"
#include "reference/layout/shapes.h"

namespace moe4 {
namespace {

Shape code_shape(const WeightExtent& x) { return {x.experts, x.out, x.in / 8}; }

std::optional<WeightExtent> extent(std::span<const std::int64_t> shape) {
  if (shape.size() != 3 || shape[2] > (std::int64_t{1} << 59)) return std::nullopt;
  return WeightExtent{shape[0], shape[1], shape[2] * 8};
}

CodePlace code_at(const WeightExtent& x, std::int64_t e, std::int64_t o, std::int64_t i) {
  return {(e * x.out + o) * (x.in / 8) + i / 8, static_cast<int>(i % 8)};
}

}  // namespace

constinit const WeightLayout kCompressedTensors = {
    .name = "compressed_tensors",
    .weights = "int4",
    .description = "words of 8 codes along I, element i at bits 4(i%8); BF16 scales [E,O,G]",
    .code_dtype = Dtype::kI32,
    .scale_dtype = Dtype::kBF16,
    .code_shape = code_shape,
    .extent = extent,
    .scale_shape = row_scale_shape,
    .code_at = code_at,
    .scale_at = row_scale_at,
};

}  // namespace moe4
