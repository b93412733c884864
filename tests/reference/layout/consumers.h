// What the lanes of a warp find in packed INT4 words: written from the loads and register orders of the
// tensor-core instructions, the other way round than the layouts' formulas. Each returns the codes [E,O,I] or
// scales [E,O,G] that the multiply would use.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/layout/weight_layout.h"

namespace moe4::layout_test {

std::vector<std::uint8_t> codes_in_mma_registers(const WeightExtent& extent, const Tensor& words);
std::vector<std::uint8_t> codes_in_wgmma_registers(const WeightExtent& extent, const Tensor& words);
std::vector<std::uint16_t> scales_in_indexed_lanes(const WeightExtent& extent, const Tensor& scales);
std::vector<std::uint8_t> codes_after_ldmatrix(const WeightExtent& extent, const Tensor& bytes);

}  // namespace moe4::layout_test
