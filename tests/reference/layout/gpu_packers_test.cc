// gpu/layout against reference/layout: the packers that kernels use, judged by the formulas.
#include <gtest/gtest.h>

#include <algorithm>

#include "gpu/layout/packer.h"
#include "reference/layout/layouts.h"
#include "tests/reference/layout/pattern.h"

namespace moe4::layout_test {
namespace {

std::span<std::byte> writable(Tensor& tensor) { return {tensor.data(), tensor.bytes()}; }

// Tensors of the layout, filled with a byte that must go.
WeightTensors blank(const WeightLayout& layout, const WeightExtent& extent) {
  WeightTensors weights;
  weights.codes = Tensor(layout.code_dtype, layout.code_shape(extent));
  if (!layout.scales_among_codes()) weights.scales = Tensor(layout.scale_dtype, layout.scale_shape(extent));
  std::ranges::fill(writable(weights.codes), std::byte{0xA5});
  std::ranges::fill(writable(weights.scales), std::byte{0xA5});
  return weights;
}

WeightTensors packed_by(const gpu::Packer& packer, const WeightLayout& layout, const WeightExtent& extent,
                        const WeightTensors& logical) {
  WeightTensors packed = blank(layout, extent);
  const auto error = gpu::pack_weights(packer, {extent.experts, extent.out, extent.in},
                                       {bytes_of(logical.codes), bytes_of(logical.scales)},
                                       {writable(packed.codes), writable(packed.scales)});
  EXPECT_FALSE(error) << *error;
  return packed;
}

TEST(GpuPackers, AgreeWithTheFormulas) {
  for (const gpu::Packer& packer : gpu::packers()) {
    const WeightLayout* layout = find_weight_layout(packer.layout);
    ASSERT_NE(layout, nullptr) << packer.layout;
    EXPECT_EQ(packer.weights, layout->weights);
    EXPECT_EQ(packer.out_multiple, layout->out_multiple);
    EXPECT_EQ(packer.in_multiple, layout->in_multiple);
    for (const WeightExtent& extent : small_extents(*layout)) {
      for (std::uint32_t seed = 0; seed < 3; ++seed) {
        const WeightTensors logical = scattered_weights(layout->weights, extent, seed);
        EXPECT_TRUE(same(packed_by(packer, *layout, extent, logical), *pack(*layout, logical.views())))
            << describe(*layout, extent);
      }
    }
  }
}

// One code or scale at a time: a packer that confuses places with equal contents has nowhere to hide.
TEST(GpuPackers, MoveEverySingleNibble) {
  for (const gpu::Packer& packer : gpu::packers()) {
    const WeightLayout& layout = *find_weight_layout(packer.layout);
    const WeightExtent extent{1, packer.out_multiple, packer.in_multiple};
    WeightTensors logical = scattered_weights(layout.weights, extent, 0);
    std::ranges::fill(writable(logical.codes), std::byte{0});
    std::ranges::fill(writable(logical.scales), std::byte{0});
    for (std::size_t n = 0; n < 2 * logical.codes.bytes(); n += n < 512 ? 1 : 61) {
      std::byte& byte = logical.codes.data()[n / 2];
      byte = static_cast<std::byte>(n % 2 == 0 ? 0x0F : 0xF0);
      ASSERT_TRUE(same(packed_by(packer, layout, extent, logical), *pack(layout, logical.views())))
          << packer.layout << ": nibble " << n;
      byte = {};
    }
  }
}

TEST(GpuPackers, AnotherLayoutIsSeen) {
  const WeightExtent extent{1, 64, 64};
  const WeightTensors logical = scattered_weights("int4", extent, 0);
  EXPECT_FALSE(same(packed_by(*gpu::find_packer("indexed_mma"), kIndexedMma, extent, logical),
                    *pack(kIndexedWgmma, logical.views())));
}

// Every layout but the logical ones, which kernels read as they are.
TEST(GpuPackers, OneForEveryLayout) {
  for (const WeightLayout* layout : weight_layouts()) {
    const bool as_is = layout == logical_layout(layout->weights);
    EXPECT_EQ(gpu::find_packer(layout->name) == nullptr, as_is) << layout->name;
  }
}

TEST(GpuPackers, RefuseWhatDoesNotFit) {
  const gpu::Packer& packer = *gpu::find_packer("grouped_masked");
  const WeightExtent extent{1, 64, 128};
  const WeightTensors logical = scattered_weights("int4", extent, 0);
  WeightTensors packed = blank(kGroupedMasked, extent);
  const gpu::PackerSource from{bytes_of(logical.codes), bytes_of(logical.scales)};
  const gpu::PackerTarget to{writable(packed.codes), writable(packed.scales)};
  EXPECT_FALSE(gpu::pack_weights(packer, {1, 64, 128}, from, to));
  EXPECT_EQ(gpu::pack_weights(packer, {1, 64, 64}, from, to),
            "layout grouped_masked cannot hold experts=1 out=64 in=64: out is a multiple of 64, in of 128");
  EXPECT_TRUE(gpu::pack_weights(packer, {1, std::int64_t{1} << 62, 128}, from, to));
  EXPECT_TRUE(gpu::pack_weights(packer, {INT64_MAX, INT64_MAX / 64 * 64, 128}, from, to));
  EXPECT_TRUE(gpu::pack_weights(packer, {0, 64, 128}, from, to));
  EXPECT_EQ(gpu::pack_weights(packer, {2, 64, 128}, from, to),
            "source codes of layout grouped_masked: 4096 bytes, due are 8192");
  EXPECT_EQ(gpu::pack_weights(packer, {1, 64, 128}, from, {to.codes.subspan(1), to.scales}),
            "codes of layout grouped_masked: 4095 bytes, due are 4096");
  EXPECT_EQ(gpu::pack_weights(packer, {1, 64, 128}, from, {to.codes, {}}),
            "scales of layout grouped_masked: 0 bytes, due are 512");
}

}  // namespace
}  // namespace moe4::layout_test
