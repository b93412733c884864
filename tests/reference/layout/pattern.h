// Weights for the layout tests, and the checksum that their golden values are stated in.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "reference/layout/repack.h"

namespace moe4::layout_test {

// A 32-bit hash of three coordinates.
std::uint32_t mix(std::uint32_t a, std::uint32_t b, std::uint32_t c);

std::uint32_t crc32(std::span<const std::byte> bytes);  // zlib's: reflected 0xEDB88320
inline std::span<const std::byte> bytes_of(const Tensor& tensor) { return {tensor.data(), tensor.bytes()}; }

// Logical weights with code(e,o,i) and scale bits(e,o,g), row by row.
WeightTensors logical_weights(const WeightLayout& logical, const WeightExtent& extent,
                              const std::function<unsigned(std::int64_t, std::int64_t, std::int64_t)>& code,
                              const std::function<unsigned(std::int64_t, std::int64_t, std::int64_t)>& scale);

// Codes and scales that differ from place to place.
WeightTensors scattered_weights(std::string_view weights, const WeightExtent& extent, std::uint32_t seed);

// Codes mix(e,o,i) & 15, scales 0x3C00 + (mix(e+101,o,g) & 0x1FF): the pattern of the golden INT4 checksums.
WeightTensors golden_int4(const WeightExtent& extent);

bool same(const WeightTensors& a, const WeightTensors& b);  // dtypes, shapes, bytes

// Small extents that the layout accepts: one to three of its multiples in each dimension.
std::vector<WeightExtent> small_extents(const WeightLayout& layout);

std::string describe(const WeightLayout& layout, const WeightExtent& extent);

}  // namespace moe4::layout_test
