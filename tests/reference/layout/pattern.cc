#include "tests/reference/layout/pattern.h"

#include <algorithm>
#include <array>

namespace moe4::layout_test {

std::uint32_t mix(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  std::uint32_t h = a * 0x9E3779B1u + b * 0x85EBCA77u + c * 0xC2B2AE3Du + 0x165667B1u;
  h ^= h >> 15;
  h *= 0x2C1B3C6Du;
  h ^= h >> 12;
  return h;
}

std::uint32_t crc32(std::span<const std::byte> bytes) {
  static const std::array<std::uint32_t, 256> kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t n = 0; n < 256; ++n) {
      std::uint32_t c = n;
      for (int k = 0; k < 8; ++k) c = (c & 1) != 0 ? 0xEDB88320u ^ c >> 1 : c >> 1;
      table[n] = c;
    }
    return table;
  }();
  std::uint32_t crc = 0xFFFFFFFFu;
  for (const std::byte b : bytes) crc = kTable[(crc ^ std::to_integer<std::uint32_t>(b)) & 0xFFu] ^ crc >> 8;
  return ~crc;
}

WeightTensors logical_weights(
    const WeightLayout& logical, const WeightExtent& extent,
    const std::function<unsigned(std::int64_t, std::int64_t, std::int64_t)>& code,
    const std::function<unsigned(std::int64_t, std::int64_t, std::int64_t)>& scale) {
  WeightTensors weights{Tensor(logical.code_dtype, logical.code_shape(extent)),
                        Tensor(logical.scale_dtype, logical.scale_shape(extent))};
  std::int64_t code_at = 0, scale_at = 0;
  for (std::int64_t e = 0; e < extent.experts; ++e) {
    for (std::int64_t o = 0; o < extent.out; ++o) {
      for (std::int64_t i = 0; i < extent.in; ++i, ++code_at) {
        weights.codes.data()[code_at / 2] |= static_cast<std::byte>(code(e, o, i) << (code_at % 2 * 4));
      }
      for (std::int64_t g = 0; g < extent.groups(); ++g, ++scale_at) {
        const unsigned bits = scale(e, o, g);
        const auto at = static_cast<std::size_t>(scale_at);
        if (logical.scale_dtype == Dtype::kU8) {
          weights.scales.as<std::uint8_t>()[at] = static_cast<std::uint8_t>(bits);
        } else {
          weights.scales.as<std::uint16_t>()[at] = static_cast<std::uint16_t>(bits);
        }
      }
    }
  }
  return weights;
}

namespace {

std::uint32_t mix_at(std::uint32_t seed, std::int64_t e, std::int64_t o, std::int64_t i) {
  return mix(seed + static_cast<std::uint32_t>(e), static_cast<std::uint32_t>(o),
             static_cast<std::uint32_t>(i));
}

}  // namespace

WeightTensors scattered_weights(std::string_view weights, const WeightExtent& extent, std::uint32_t seed) {
  return logical_weights(
      *logical_layout(weights), extent, [&](auto e, auto o, auto i) { return mix_at(seed, e, o, i) & 15; },
      [&](auto e, auto o, auto g) { return mix_at(seed + 1000, e, o, g) & 0xFFFF; });
}

WeightTensors golden_int4(const WeightExtent& extent) {
  return logical_weights(
      *logical_layout("int4"), extent, [](auto e, auto o, auto i) { return mix_at(0, e, o, i) & 15; },
      [](auto e, auto o, auto g) { return 0x3C00 + (mix_at(101, e, o, g) & 0x1FF); });
}

bool same(const WeightTensors& a, const WeightTensors& b) {
  const auto equal = [](const Tensor& x, const Tensor& y) {
    return x.dtype() == y.dtype() && x.shape() == y.shape() && std::ranges::equal(bytes_of(x), bytes_of(y));
  };
  return equal(a.codes, b.codes) && equal(a.scales, b.scales);
}

std::vector<WeightExtent> small_extents(const WeightLayout& layout) {
  std::vector<WeightExtent> extents;
  for (std::int64_t e = 1; e <= 2; ++e) {
    for (std::int64_t o = 1; o <= 3; ++o) {
      for (std::int64_t i = 1; i <= 3; ++i) {
        extents.push_back({e, o * layout.out_multiple, i * layout.in_multiple});
      }
    }
  }
  return extents;
}

std::string describe(const WeightLayout& layout, const WeightExtent& extent) {
  return std::string(layout.name) + " " + to_string(Shape{extent.experts, extent.out, extent.in});
}

}  // namespace moe4::layout_test
