// LAY-6: GGUF's MXFP4 (ggml type 39): a block is its scale byte and 16 bytes of split halves.
#include "reference/layout/layouts.h"
#include "reference/layout/shapes.h"

namespace moe4 {
namespace {

constexpr std::int64_t kBlock = 17;

Shape code_shape(const WeightExtent& x) { return block_shape(x, kBlock); }

std::optional<WeightExtent> extent(std::span<const std::int64_t> shape) {
  return block_extent(shape, kBlock);
}

std::int64_t scale_at(const WeightExtent& x, std::int64_t e, std::int64_t o, std::int64_t g) {
  return kBlock * row_scale_at(x, e, o, g);
}

CodePlace code_at(const WeightExtent& x, std::int64_t e, std::int64_t o, std::int64_t i) {
  return {scale_at(x, e, o, i / 32) + 1 + i % 16, static_cast<int>(i % 32 / 16)};
}

}  // namespace

constinit const WeightLayout kGguf = {
    .name = "gguf",
    .weights = "mxfp4",
    .description = "blocks of 17 bytes: scale byte, then byte j with elements j (low) and j+16 (high)",
    .code_shape = code_shape,
    .extent = extent,
    .scale_shape = nullptr,
    .code_at = code_at,
    .scale_at = scale_at,
};

}  // namespace moe4
