// LAY-1, LAY-3: every nibble of a layout's tensors is the place of exactly one code or of one part of exactly
// one scale, and no two experts share a byte; looked at place by place.
#include <gtest/gtest.h>

#include <algorithm>

#include "reference/layout/layouts.h"
#include "tests/reference/layout/pattern.h"

namespace moe4::layout_test {
namespace {

// Who lies at each nibble: 0 nobody, else 1 + the expert.
class Nibbles {
 public:
  Nibbles(const Shape& shape, Dtype dtype)
      : owner_(static_cast<std::size_t>(*element_count(shape)) * size_of(dtype) * 2, 0) {}

  // False if the place is outside or taken.
  bool take(std::int64_t nibble, std::int64_t expert) {
    if (nibble < 0 || nibble >= static_cast<std::int64_t>(owner_.size())) return false;
    std::int64_t& owner = owner_[static_cast<std::size_t>(nibble)];
    if (owner != 0) return false;
    owner = 1 + expert;
    return true;
  }

  bool full() const { return std::ranges::find(owner_, 0) == owner_.end(); }
  bool experts_in_order() const { return std::ranges::is_sorted(owner_); }

 private:
  std::vector<std::int64_t> owner_;
};

// What is wrong with a layout's places for one extent; empty if nothing.
std::string problem(const WeightLayout& layout, const WeightExtent& x) {
  Nibbles codes(layout.code_shape(x), layout.code_dtype);
  Nibbles own_scales(layout.scales_among_codes() ? Shape{0} : layout.scale_shape(x), layout.scale_dtype);
  Nibbles& scales = layout.scales_among_codes() ? codes : own_scales;
  const auto code_nibbles = static_cast<std::int64_t>(size_of(layout.code_dtype)) * 2;
  const auto scale_nibbles = static_cast<std::int64_t>(size_of(layout.scale_dtype)) * 2;
  for (std::int64_t e = 0; e < x.experts; ++e) {
    for (std::int64_t o = 0; o < x.out; ++o) {
      for (std::int64_t i = 0; i < x.in; ++i) {
        const CodePlace place = layout.code_at(x, e, o, i);
        if (place.nibble < 0 || place.nibble >= code_nibbles) return "nibble outside its element";
        if (!codes.take(place.element * code_nibbles + place.nibble, e)) {
          return "code " + to_string(Shape{e, o, i}) + " lies outside or on another";
        }
      }
      for (std::int64_t g = 0; g < x.groups(); ++g) {
        const std::int64_t first = layout.scale_at(x, e, o, g) * scale_nibbles;
        for (std::int64_t n = 0; n < scale_nibbles; ++n) {
          if (!scales.take(first + n, e)) {
            return "scale " + to_string(Shape{e, o, g}) + " lies outside or on another";
          }
        }
      }
    }
  }
  if (!codes.full() || !scales.full()) return "a nibble is nobody's";
  if (!codes.experts_in_order() || !scales.experts_in_order()) return "experts are mingled";
  return "";
}

TEST(LayoutBijection, EveryNibbleHasOneOwner) {
  ASSERT_EQ(weight_layouts().size(), 8u);
  for (const WeightLayout* layout : weight_layouts()) {
    for (const WeightExtent& extent : small_extents(*layout)) {
      ASSERT_FALSE(check_extent(*layout, extent)) << describe(*layout, extent);
      EXPECT_EQ(problem(*layout, extent), "") << describe(*layout, extent);
      const std::optional<WeightExtent> back = layout->extent(layout->code_shape(extent));
      ASSERT_TRUE(back) << describe(*layout, extent);
      EXPECT_EQ(*back, extent) << describe(*layout, extent);
    }
  }
}

// Bent layouts: the same checks must see each.
TEST(LayoutBijection, BentLayoutsAreSeen) {
  const WeightExtent extent{2, 64, 128};
  WeightLayout bent = kGroupedMasked;
  bent.code_at = [](const WeightExtent& x, std::int64_t e, std::int64_t o, std::int64_t i) {
    return kGroupedMasked.code_at(x, e, o, i == 17 ? 16 : i);
  };
  EXPECT_EQ(problem(bent, extent), "code [0,0,17] lies outside or on another");

  bent = kIndexedMma;
  bent.code_at = [](const WeightExtent& x, std::int64_t e, std::int64_t o, std::int64_t i) {
    CodePlace place = kIndexedMma.code_at(x, e, o, i);
    place.element += 1;
    return place;
  };
  EXPECT_NE(problem(bent, extent).find("lies outside"), std::string::npos);

  bent = kCompressedTensors;
  bent.code_at = [](const WeightExtent& x, std::int64_t e, std::int64_t o, std::int64_t i) {
    CodePlace place = kCompressedTensors.code_at(x, e, o, i);
    place.nibble += 1;
    return place;
  };
  EXPECT_EQ(problem(bent, extent), "nibble outside its element");

  bent = kIndexedWgmma;
  bent.scale_at = [](const WeightExtent& x, std::int64_t e, std::int64_t o, std::int64_t g) {
    return kIndexedWgmma.scale_at(x, e, o ^ (g & 1 & o), g);
  };
  EXPECT_EQ(problem(bent, extent), "scale [0,1,1] lies outside or on another");

  bent = kRowMajor;
  bent.code_at = [](const WeightExtent& x, std::int64_t e, std::int64_t o, std::int64_t i) {
    return kRowMajor.code_at(x, x.experts - 1 - e, o, i);
  };
  EXPECT_EQ(problem(bent, extent), "experts are mingled");

  bent = kGguf;
  bent.scale_at = [](const WeightExtent& x, std::int64_t e, std::int64_t o, std::int64_t g) {
    return kGguf.scale_at(x, e, o, g) + 1;
  };
  EXPECT_EQ(problem(bent, extent), "scale [0,0,0] lies outside or on another");

  bent = kRowMajor;
  bent.code_shape = [](const WeightExtent& x) { return Shape{x.experts, x.out, x.groups(), 17}; };
  EXPECT_EQ(problem(bent, extent), "a nibble is nobody's");
}

}  // namespace
}  // namespace moe4::layout_test
