// LAY-5: MXFP4 as this project's cases hold it, and Kimi K3's files row by row: FMT-3.
#include "reference/layout/layouts.h"
#include "reference/layout/shapes.h"

namespace moe4 {
namespace {

Shape code_shape(const WeightExtent& x) { return block_shape(x, 16); }

std::optional<WeightExtent> extent(std::span<const std::int64_t> shape) { return block_extent(shape, 16); }

CodePlace code_at(const WeightExtent& x, std::int64_t e, std::int64_t o, std::int64_t i) {
  return {((e * x.out + o) * x.in + i) / 2, static_cast<int>(i % 2)};
}

}  // namespace

constinit const WeightLayout kRowMajor = {
    .name = "row_major",
    .weights = "mxfp4",
    .description = "blocks of 16 bytes, low nibble first; scale bytes [E,O,G]",
    .code_shape = code_shape,
    .extent = extent,
    .scale_shape = row_scale_shape,
    .code_at = code_at,
    .scale_at = row_scale_at,
};

}  // namespace moe4
