// LAY-1 as a property: packing and unpacking lose nothing, by whatever way.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "reference/layout/layouts.h"
#include "tests/reference/layout/pattern.h"

namespace moe4::layout_test {
namespace {

std::vector<const WeightLayout*> layouts_of(std::string_view weights) {
  std::vector<const WeightLayout*> all;
  for (const WeightLayout* layout : weight_layouts()) {
    if (layout->weights == weights) all.push_back(layout);
  }
  return all;
}

TEST(Repack, UnpackUndoesPack) {
  for (const WeightLayout* layout : weight_layouts()) {
    for (const WeightExtent& extent : small_extents(*layout)) {
      const WeightTensors logical = scattered_weights(layout->weights, extent, 1);
      Result<WeightTensors> packed = pack(*layout, logical.views());
      ASSERT_TRUE(packed.ok()) << describe(*layout, extent);
      Result<WeightTensors> back = unpack(*layout, packed->views());
      ASSERT_TRUE(back.ok()) << describe(*layout, extent);
      EXPECT_TRUE(same(*back, logical)) << describe(*layout, extent);
      // One gate row and one up row are in their places already.
      const bool itself =
          layout == logical_layout(layout->weights) || (layout == &kGptOss && extent.out == 2);
      EXPECT_EQ(same(*packed, logical), itself) << describe(*layout, extent);
    }
  }
}

// Every element of `to` at its place: the accessors, one by one, against the packed tensor.
TEST(Repack, PutsEveryCodeAndScaleAtItsPlace) {
  for (const WeightLayout* layout : weight_layouts()) {
    const WeightLayout& from = *logical_layout(layout->weights);
    const WeightExtent x{2, 2 * layout->out_multiple, 2 * layout->in_multiple};
    const WeightTensors logical = scattered_weights(layout->weights, x, 2);
    const WeightTensors packed = *pack(*layout, logical.views());
    const std::size_t size = size_of(from.scale_dtype);
    const std::byte* scales = layout->scales_among_codes() ? packed.codes.data() : packed.scales.data();
    for (std::int64_t e = 0; e < x.experts; ++e) {
      for (std::int64_t o = 0; o < x.out; ++o) {
        for (std::int64_t i = 0; i < x.in; ++i) {
          ASSERT_EQ(get_code(*layout, packed.codes.data(), layout->code_at(x, e, o, i)),
                    get_code(from, logical.codes.data(), from.code_at(x, e, o, i)))
              << describe(*layout, x);
        }
        for (std::int64_t g = 0; g < x.groups(); ++g) {
          const std::byte* there = scales + layout->scale_at(x, e, o, g) * static_cast<std::int64_t>(size);
          const std::byte* here =
              logical.scales.data() + from.scale_at(x, e, o, g) * static_cast<std::int64_t>(size);
          ASSERT_TRUE(std::equal(there, there + size, here)) << describe(*layout, x);
        }
      }
    }
  }
}

TEST(Repack, TheWrongLayoutDoesNotUndo) {
  const WeightExtent extent{1, 64, 128};
  const WeightTensors logical = scattered_weights("int4", extent, 1);
  const WeightTensors mma = *pack(kIndexedMma, logical.views());
  EXPECT_FALSE(same(*unpack(kIndexedWgmma, mma.views()), logical));
  const WeightTensors oss = *pack(kGptOss, scattered_weights("mxfp4", extent, 1).views());
  EXPECT_FALSE(same(*unpack(kRowMajor, oss.views()), scattered_weights("mxfp4", extent, 1)));
}

// LAY-13: one formula, two names.
TEST(Repack, BothGroupedModesHaveTheSameBytes) {
  const WeightTensors logical = scattered_weights("int4", {2, 128, 256}, 1);
  EXPECT_TRUE(same(*pack(kGroupedContiguous, logical.views()), *pack(kGroupedMasked, logical.views())));
}

RC_GTEST_PROP(RepackProperty, AnyWayRoundLosesNothing, ()) {
  const std::vector<const WeightLayout*> layouts =
      layouts_of(*rc::gen::element<std::string_view>("mxfp4", "int4"));
  const WeightLayout& a = **rc::gen::elementOf(layouts);
  const WeightLayout& b = **rc::gen::elementOf(layouts);
  const WeightExtent extent{*rc::gen::inRange(1, 4),
                            std::max(a.out_multiple, b.out_multiple) * *rc::gen::inRange(1, 4),
                            std::max(a.in_multiple, b.in_multiple) * *rc::gen::inRange(1, 4)};
  const WeightTensors logical =
      scattered_weights(a.weights, extent, static_cast<std::uint32_t>(*rc::gen::arbitrary<int>()));
  const WeightTensors in_a = *pack(a, logical.views());
  const WeightTensors in_b = *repack(a, b, in_a.views());
  RC_ASSERT(same(in_b, *pack(b, logical.views())));
  RC_ASSERT(same(*repack(b, a, in_b.views()), in_a));
  RC_ASSERT(same(*unpack(b, in_b.views()), logical));
}

}  // namespace
}  // namespace moe4::layout_test
