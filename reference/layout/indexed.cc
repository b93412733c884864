// LAY-9, LAY-10: INT4 for indexed kernels on Hopper: a word holds what one lane feeds to one tensor-core
// instruction, and a lane's eight scales lie together.
#include "reference/layout/layouts.h"
#include "reference/layout/shapes.h"

namespace moe4 {
namespace {

Shape code_shape(const WeightExtent& x) { return {x.experts, x.in / 16, 2 * x.out}; }

std::optional<WeightExtent> extent(std::span<const std::int64_t> shape) {
  if (shape.size() != 3 || shape[2] % 2 != 0 || shape[1] > (std::int64_t{1} << 58)) return std::nullopt;
  return WeightExtent{shape[0], shape[2] / 2, shape[1] * 16};
}

std::int64_t word_at(const WeightExtent& x, std::int64_t e, std::int64_t o, std::int64_t i) {
  const std::int64_t row = i / 16;
  const std::int64_t lane = o % 8 * 4 + i % 8 / 2;
  const std::int64_t column = o / 64 * 128 + lane * 4 + o % 64 / 16;
  return (e * (x.in / 16) + row) * 2 * x.out + column;
}

// Which 8 of 16 outputs, which 8 of 16 inputs, which of a pair of inputs.
int out8(std::int64_t o) { return static_cast<int>(o / 8 % 2); }
int in8(std::int64_t i) { return static_cast<int>(i / 8 % 2); }
int odd(std::int64_t i) { return static_cast<int>(i % 2); }

CodePlace mma_at(const WeightExtent& x, std::int64_t e, std::int64_t o, std::int64_t i) {
  return {word_at(x, e, o, i), 4 * odd(i) + 2 * out8(o) + in8(i)};
}

CodePlace wgmma_at(const WeightExtent& x, std::int64_t e, std::int64_t o, std::int64_t i) {
  return {word_at(x, e, o, i), 4 * odd(i) + 2 * in8(i) + out8(o)};
}

std::int64_t scale_at(const WeightExtent& x, std::int64_t e, std::int64_t o, std::int64_t g) {
  return (e * x.groups() + g) * x.out + o / 64 * 64 + o % 8 * 8 + o % 64 / 8;
}

}  // namespace

constinit const WeightLayout kIndexedMma = {
    .name = "indexed_mma",
    .weights = "int4",
    .description = "a lane's words in the register order of mma.m16n8k16; lane-permuted scales [E,G,O]",
    .code_dtype = Dtype::kI32,
    .scale_dtype = Dtype::kBF16,
    .out_multiple = 64,
    .in_multiple = 64,
    .code_shape = code_shape,
    .extent = extent,
    .scale_shape = column_scale_shape,
    .code_at = mma_at,
    .scale_at = scale_at,
};

constinit const WeightLayout kIndexedWgmma = {
    .name = "indexed_wgmma",
    .weights = "int4",
    .description = "a lane's words in the register order of wgmma's A operand; scales as indexed_mma",
    .code_dtype = Dtype::kI32,
    .scale_dtype = Dtype::kBF16,
    .out_multiple = 64,
    .in_multiple = 64,
    .code_shape = code_shape,
    .extent = extent,
    .scale_shape = column_scale_shape,
    .code_at = wgmma_at,
    .scale_at = scale_at,
};

}  // namespace moe4
