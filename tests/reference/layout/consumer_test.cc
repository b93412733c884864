// LAY-9 … LAY-12 from the consumer's side: what lanes load and feed to tensor cores are the logical weights.
#include <gtest/gtest.h>

#include <algorithm>

#include "reference/layout/layouts.h"
#include "tests/reference/layout/consumers.h"
#include "tests/reference/layout/pattern.h"

namespace moe4::layout_test {
namespace {

using ReadCodes = std::vector<std::uint8_t>(const WeightExtent&, const Tensor&);

constexpr WeightExtent kExtents[] = {{1, 64, 128}, {2, 128, 128}, {3, 192, 256}};

std::vector<std::uint8_t> logical_codes(const WeightTensors& weights) {
  std::vector<std::uint8_t> codes;
  for (const std::byte b : bytes_of(weights.codes)) {
    codes.push_back(std::to_integer<std::uint8_t>(b) & 15);
    codes.push_back(std::to_integer<std::uint8_t>(b) >> 4);
  }
  return codes;
}

bool reads_back(const WeightLayout& layout, ReadCodes* read, const WeightExtent& extent) {
  const WeightTensors logical = scattered_weights("int4", extent, 3);
  Result<WeightTensors> packed = pack(layout, logical.views());
  return packed.ok() && read(extent, packed->codes) == logical_codes(logical);
}

TEST(LayoutConsumers, LanesFindTheirCodes) {
  for (const WeightExtent& extent : kExtents) {
    EXPECT_TRUE(reads_back(kIndexedMma, codes_in_mma_registers, extent));
    EXPECT_TRUE(reads_back(kIndexedWgmma, codes_in_wgmma_registers, extent));
    EXPECT_TRUE(reads_back(kGroupedContiguous, codes_after_ldmatrix, extent));
    EXPECT_TRUE(reads_back(kGroupedMasked, codes_after_ldmatrix, extent));
  }
}

TEST(LayoutConsumers, AnotherLayoutIsSeen) {
  for (const WeightExtent& extent : kExtents) {
    EXPECT_FALSE(reads_back(kIndexedMma, codes_in_wgmma_registers, extent));
    EXPECT_FALSE(reads_back(kIndexedWgmma, codes_in_mma_registers, extent));
    EXPECT_FALSE(reads_back(kCompressedTensors, codes_after_ldmatrix, extent));
  }
}

TEST(LayoutConsumers, LanesFindTheirScales) {
  for (const WeightExtent& extent : kExtents) {
    const WeightTensors logical = scattered_weights("int4", extent, 4);
    const auto due = logical.scales.as<std::uint16_t>();
    for (const WeightLayout* layout : {&kIndexedMma, &kIndexedWgmma}) {
      const WeightTensors packed = *pack(*layout, logical.views());
      const auto seen = scales_in_indexed_lanes(extent, packed.scales);
      EXPECT_TRUE(std::equal(seen.begin(), seen.end(), due.begin(), due.end())) << layout->name;
    }
    // Transposed, but not permuted for the lanes.
    const auto seen = scales_in_indexed_lanes(extent, pack(kGroupedMasked, logical.views())->scales);
    EXPECT_FALSE(std::equal(seen.begin(), seen.end(), due.begin(), due.end()));
  }
}

// A grouped kernel loads the scale of output o and group g from row g, column o.
TEST(LayoutConsumers, GroupedScalesAreTransposed) {
  const WeightExtent x{2, 64, 128};
  const WeightTensors logical = scattered_weights("int4", x, 5);
  const WeightTensors packed = *pack(kGroupedContiguous, logical.views());
  const auto from = logical.scales.as<std::uint16_t>();
  const auto to = packed.scales.as<std::uint16_t>();
  for (std::size_t e = 0; e < 2; ++e) {
    for (std::size_t o = 0; o < 64; ++o) {
      for (std::size_t g = 0; g < 4; ++g) {
        ASSERT_EQ(to[(e * 4 + g) * 64 + o], from[(e * 64 + o) * 4 + g]);
      }
    }
  }
}

}  // namespace
}  // namespace moe4::layout_test
