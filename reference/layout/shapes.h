// Shapes that several layouts share.
#pragma once

#include "reference/layout/weight_layout.h"

namespace moe4 {

// Scales [E,O,G], one after another along a row.
inline Shape row_scale_shape(const WeightExtent& x) { return {x.experts, x.out, x.groups()}; }
inline std::int64_t row_scale_at(const WeightExtent& x, std::int64_t e, std::int64_t o, std::int64_t g) {
  return (e * x.out + o) * x.groups() + g;
}

// Scales [E,G,O], one after another along the outputs.
inline Shape column_scale_shape(const WeightExtent& x) { return {x.experts, x.groups(), x.out}; }

// Codes [E,O,G,bytes]: a block of bytes a group. The largest G keeps 32 G inside 63 bits.
inline Shape block_shape(const WeightExtent& x, std::int64_t bytes) {
  return {x.experts, x.out, x.groups(), bytes};
}
inline std::optional<WeightExtent> block_extent(std::span<const std::int64_t> shape, std::int64_t bytes) {
  if (shape.size() != 4 || shape[3] != bytes || shape[2] > (std::int64_t{1} << 57)) return std::nullopt;
  return WeightExtent{shape[0], shape[1], shape[2] * 32};
}

}  // namespace moe4
