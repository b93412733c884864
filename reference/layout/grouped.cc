// LAY-11, LAY-12, LAY-13: INT4 for grouped kernels: bytes that ldmatrix brings to the lanes as whole
// operands. Both modes have the same formula; the mode is part of the layout's name, since kernels check it
// (LAY-13).
#include "reference/layout/layouts.h"
#include "reference/layout/shapes.h"

namespace moe4 {
namespace {

int bit(std::int64_t value, int n) { return static_cast<int>(value >> n & 1); }

Shape code_shape(const WeightExtent& x) { return {x.experts, x.out, x.in / 2}; }

std::optional<WeightExtent> extent(std::span<const std::int64_t> shape) {
  if (shape.size() != 3 || shape[2] > (std::int64_t{1} << 61)) return std::nullopt;
  return WeightExtent{shape[0], shape[1], shape[2] * 2};
}

CodePlace code_at(const WeightExtent& x, std::int64_t e, std::int64_t o, std::int64_t i) {
  const std::int64_t row = (o & ~std::int64_t{8}) | bit(i, 4) << 3;
  const std::int64_t nibble =
      (i & ~std::int64_t{31}) | bit(o, 3) | bit(i, 3) << 1 | bit(i, 0) << 2 | bit(i, 1) << 3 | bit(i, 2) << 4;
  return {(e * x.out + row) * (x.in / 2) + nibble / 2, static_cast<int>(nibble % 2)};
}

std::int64_t scale_at(const WeightExtent& x, std::int64_t e, std::int64_t o, std::int64_t g) {
  return (e * x.groups() + g) * x.out + o;
}

}  // namespace

constinit const WeightLayout kGroupedContiguous = {
    .name = "grouped_contiguous",
    .weights = "int4",
    .description = "bytes in ldmatrix order, for tiles of 64 inputs; transposed scales [E,G,O]",
    .scale_dtype = Dtype::kBF16,
    .out_multiple = 64,
    .in_multiple = 64,
    .code_shape = code_shape,
    .extent = extent,
    .scale_shape = column_scale_shape,
    .code_at = code_at,
    .scale_at = scale_at,
};

constinit const WeightLayout kGroupedMasked = {
    .name = "grouped_masked",
    .weights = "int4",
    .description = "the bytes of grouped_contiguous, for tiles of 128 inputs",
    .scale_dtype = Dtype::kBF16,
    .out_multiple = 64,
    .in_multiple = 128,
    .code_shape = code_shape,
    .extent = extent,
    .scale_shape = column_scale_shape,
    .code_at = code_at,
    .scale_at = scale_at,
};

}  // namespace moe4
