// LAY-7: gpt-oss gate_up weights: gate and up rows alternate.
#include "reference/layout/layouts.h"
#include "reference/layout/shapes.h"

namespace moe4 {
namespace {

std::int64_t physical_row(const WeightExtent& x, std::int64_t o) {
  const std::int64_t half = x.out / 2;
  return o < half ? 2 * o : 2 * (o - half) + 1;
}

Shape code_shape(const WeightExtent& x) { return block_shape(x, 16); }

std::optional<WeightExtent> extent(std::span<const std::int64_t> shape) { return block_extent(shape, 16); }

CodePlace code_at(const WeightExtent& x, std::int64_t e, std::int64_t o, std::int64_t i) {
  return {((e * x.out + physical_row(x, o)) * x.in + i) / 2, static_cast<int>(i % 2)};
}

std::int64_t scale_at(const WeightExtent& x, std::int64_t e, std::int64_t o, std::int64_t g) {
  return row_scale_at(x, e, physical_row(x, o), g);
}

}  // namespace

constinit const WeightLayout kGptOss = {
    .name = "gpt_oss",
    .weights = "mxfp4",
    .description = "row_major with gate and up rows interleaved: gate rows even, up rows odd",
    .out_multiple = 2,
    .code_shape = code_shape,
    .extent = extent,
    .scale_shape = row_scale_shape,
    .code_at = code_at,
    .scale_at = scale_at,
};

}  // namespace moe4
