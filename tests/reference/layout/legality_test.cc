// LAY-4, LAY-14: what is refused, by field and rule.
#include <gtest/gtest.h>

#include "reference/layout/layouts.h"
#include "tests/reference/layout/pattern.h"

namespace moe4::layout_test {
namespace {

std::string refusal(const WeightLayout& layout, const WeightExtent& extent) {
  const Status status = check_extent(layout, extent);
  return status ? status->message() : "";
}

TEST(LayoutLegality, Extents) {
  EXPECT_EQ(refusal(kRowMajor, {1, 1, 32}), "");
  EXPECT_EQ(refusal(kGguf, {3, 5, 96}), "");
  EXPECT_EQ(refusal(kIndexedMma, {1, 64, 64}), "");
  EXPECT_EQ(refusal(kGroupedContiguous, {1, 64, 192}), "");
  EXPECT_EQ(refusal(kGroupedMasked, {1, 64, 192}),
            "in: value 192: LAY-4: a multiple of 128 in layout grouped_masked");
  EXPECT_EQ(refusal(kIndexedWgmma, {1, 96, 64}),
            "out: value 96: LAY-4: a multiple of 64 in layout indexed_wgmma");
  EXPECT_EQ(refusal(kGptOss, {1, 3, 32}), "out: value 3: LAY-4: a multiple of 2 in layout gpt_oss");
  EXPECT_EQ(refusal(kCompressedTensors, {1, 1, 40}),
            "in: value 40: LAY-4: a multiple of 32 in layout compressed_tensors");
  EXPECT_EQ(refusal(kRowMajor, {0, 1, 32}), "experts: value 0: LAY-4: experts, out and in are 1 or more");
  EXPECT_EQ(refusal(kRowMajor, {1, -1, 32}), "out: value -1: LAY-4: experts, out and in are 1 or more");
  const std::int64_t big = std::int64_t{1} << 40;
  EXPECT_EQ(refusal(kRowMajor, {big, big, 32}),
            "weights: value [1099511627776,1099511627776,32]: LAY-4: at most 2^62 weights");
}

std::string refusal(const WeightLayout& layout, const WeightViews& weights) {
  Result<WeightExtent> extent = check_weights(layout, weights);
  return extent.ok() ? "" : extent.error().message();
}

TEST(LayoutLegality, Tensors) {
  const WeightTensors good = scattered_weights("int4", {2, 64, 64}, 1);
  EXPECT_EQ(refusal(kCompressedTensors, good.views()), "");

  WeightViews bent = good.views();
  bent.codes.dtype = Dtype::kU8;
  EXPECT_EQ(refusal(kCompressedTensors, bent), "packed_weights: value U8: LAY-14: dtype I32");

  bent = good.views();
  bent.scales.dtype = Dtype::kF16;
  EXPECT_EQ(refusal(kCompressedTensors, bent), "scales: value F16: LAY-14: dtype BF16");

  bent = good.views();
  bent.scales.shape = {2, 2, 64};
  EXPECT_EQ(refusal(kCompressedTensors, bent),
            "scales: value [2,2,64]: LAY-14: shape [2,64,2] in layout compressed_tensors");

  bent = good.views();
  bent.codes.shape = {2, 64};
  EXPECT_EQ(refusal(kCompressedTensors, bent),
            "packed_weights: value [2,64]: LAY-14: the shape of weights in layout compressed_tensors");

  bent = good.views();
  bent.codes.strides = {1, 2, 128};
  EXPECT_EQ(refusal(kCompressedTensors, bent), "packed_weights: value [2,64,8]: LAY-14: contiguous");

  bent = good.views();
  bent.scales.data = nullptr;
  EXPECT_EQ(refusal(kCompressedTensors, bent), "scales: value null: LAY-14: a tensor with elements has data");
}

// No shape, however wild, is taken for weights or trips arithmetic.
TEST(LayoutLegality, WildShapes) {
  constexpr std::int64_t kDims[] = {-1,       0, 1, 16, 17, std::int64_t{1} << 31, std::int64_t{1} << 61,
                                    INT64_MAX};
  const std::byte none{};
  for (const WeightLayout* layout : weight_layouts()) {
    for (const std::int64_t a : kDims) {
      for (const std::int64_t b : kDims) {
        for (const std::int64_t c : kDims) {
          for (const Shape& shape : {Shape{a, b, c}, Shape{a, b, c, 16}, Shape{a, b, c, 17}}) {
            const WeightViews weights{{layout->code_dtype, shape, &none}, {layout->scale_dtype, {}, &none}};
            Result<WeightExtent> extent = check_weights(*layout, weights);
            if (!layout->scales_among_codes()) {
              EXPECT_FALSE(extent.ok()) << layout->name << " " << to_string(shape);
            } else if (extent.ok()) {
              EXPECT_FALSE(check_extent(*layout, *extent)) << to_string(shape);
            }
          }
        }
      }
    }
  }
}

TEST(LayoutLegality, WeightsOfAnotherFormat) {
  const WeightTensors int4 = scattered_weights("int4", {1, 64, 64}, 1);
  Result<WeightTensors> result = repack(kCompressedTensors, kGguf, int4.views());
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message(),
            "layout: value gguf: LAY-1: a layout of int4, as compressed_tensors is");
}

TEST(LayoutLegality, NamesAreFoundOnce) {
  for (const WeightLayout* layout : weight_layouts()) {
    EXPECT_EQ(find_weight_layout(layout->name), layout);
    ASSERT_NE(logical_layout(layout->weights), nullptr);
  }
  EXPECT_EQ(find_weight_layout("mma"), nullptr);
  EXPECT_EQ(logical_layout("fp8"), nullptr);
}

}  // namespace
}  // namespace moe4::layout_test
