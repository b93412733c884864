// LAY-2, LAY-5, LAY-6, LAY-7 on bytes that are written out by hand.
#include <gtest/gtest.h>

#include "reference/layout/layouts.h"
#include "tests/reference/layout/pattern.h"

namespace moe4::layout_test {
namespace {

using Bytes = std::vector<unsigned>;

Bytes bytes(const Tensor& tensor) {
  Bytes all;
  for (const std::byte b : bytes_of(tensor)) all.push_back(std::to_integer<unsigned>(b));
  return all;
}

// One group whose elements 0..31 have the codes 0..15, 15..0.
WeightTensors up_and_down() {
  return logical_weights(
      kRowMajor, {1, 1, 32}, [](auto, auto, auto i) { return static_cast<unsigned>(i < 16 ? i : 31 - i); },
      [](auto, auto, auto) { return 0x7Eu; });
}

TEST(Mxfp4Layouts, RowMajorHasTheEvenElementBelow) {
  const WeightTensors weights = up_and_down();
  EXPECT_EQ(bytes(weights.codes), (Bytes{0x10, 0x32, 0x54, 0x76, 0x98, 0xBA, 0xDC, 0xFE,  //
                                         0xEF, 0xCD, 0xAB, 0x89, 0x67, 0x45, 0x23, 0x01}));
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(get_code(kRowMajor, weights.codes.data(), kRowMajor.code_at({1, 1, 32}, 0, 0, i)),
              static_cast<unsigned>(i < 16 ? i : 31 - i));
  }
}

TEST(Mxfp4Layouts, GgufHasTheScaleFirstAndHalvesSplit) {
  Result<WeightTensors> packed = pack(kGguf, up_and_down().views());
  ASSERT_TRUE(packed.ok());
  EXPECT_EQ(packed->codes.shape(), (Shape{1, 1, 1, 17}));
  EXPECT_EQ(packed->scales.elements(), 0);
  EXPECT_EQ(bytes(packed->codes), (Bytes{0x7E,                                            //
                                         0xF0, 0xE1, 0xD2, 0xC3, 0xB4, 0xA5, 0x96, 0x87,  //
                                         0x78, 0x69, 0x5A, 0x4B, 0x3C, 0x2D, 0x1E, 0x0F}));
}

// Rows 0, 1, 2 are gate, 3, 4, 5 are up; every code and scale of a row is its number, plus 8 for the second
// expert.
TEST(Mxfp4Layouts, GptOssAlternatesGateAndUp) {
  const auto row = [](auto e, auto o, auto) { return static_cast<unsigned>(8 * e + o); };
  const WeightTensors logical = logical_weights(kRowMajor, {2, 6, 32}, row, row);
  Result<WeightTensors> packed = pack(kGptOss, logical.views());
  ASSERT_TRUE(packed.ok());
  EXPECT_EQ(bytes(packed->scales), (Bytes{0, 3, 1, 4, 2, 5, 8, 11, 9, 12, 10, 13}));
  for (std::size_t r = 0; r < 12; ++r) {
    const Bytes all = bytes(packed->codes);
    const Bytes of_row(all.begin() + static_cast<std::ptrdiff_t>(16 * r),
                       all.begin() + static_cast<std::ptrdiff_t>(16 * r + 16));
    EXPECT_EQ(of_row, Bytes(16, 17 * bytes(packed->scales)[r])) << "row " << r;
  }
}

TEST(Mxfp4Layouts, PuttingACodeReplacesThatNibbleOnly) {
  std::byte two[2] = {std::byte{0xFF}, std::byte{0xFF}};
  put_code(kRowMajor, two, {0, 1}, 0x2);
  put_code(kRowMajor, two, {1, 0}, 0x5);
  EXPECT_EQ(std::to_integer<unsigned>(two[0]), 0x2Fu);
  EXPECT_EQ(std::to_integer<unsigned>(two[1]), 0xF5u);
  std::byte words[8] = {};
  put_code(kCompressedTensors, words, {1, 5}, 0xC);  // bits 20..23 of the second word
  EXPECT_EQ(std::to_integer<unsigned>(words[6]), 0xC0u);
  EXPECT_EQ(get_code(kCompressedTensors, words, {1, 5}), 0xCu);
}

}  // namespace
}  // namespace moe4::layout_test
