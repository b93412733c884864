// Checksums (CRC-32 as zlib's) of packed INT4 weights and of one small product, computed elsewhere from the
// same pattern. E=2, O=I=128.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "reference/layout/layouts.h"
#include "tests/reference/layout/consumers.h"
#include "tests/reference/layout/pattern.h"

namespace moe4::layout_test {
namespace {

const WeightTensors& logical() {
  static const WeightTensors kWeights = golden_int4({2, 128, 128});
  return kWeights;
}

TEST(LayoutGolden, ThePatternIsTheOneMeant) {
  const std::vector<unsigned> codes = {5, 5, 14, 7, 15, 0, 9, 8};
  const CodePlace first = kCompressedTensors.code_at({2, 128, 128}, 0, 0, 0);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(get_code(kCompressedTensors, logical().codes.data(), {first.element, i}), codes[i]);
  }
  const std::vector<std::uint16_t> scales = {0x3DA2, 0x3D2E, 0x3C71, 0x3DD6};
  for (std::size_t g = 0; g < 4; ++g) EXPECT_EQ(logical().scales.as<std::uint16_t>()[g], scales[g]);
  EXPECT_EQ(crc32(std::as_bytes(std::span("123456789", 9))), 0xCBF43926u);
}

TEST(LayoutGolden, CheckpointWords) {
  EXPECT_EQ(crc32(bytes_of(logical().codes)), 0x613D72E7u);
  EXPECT_EQ(logical().codes.as<std::uint32_t>()[0], 0x890F7E55u);
}

TEST(LayoutGolden, IndexedMma) {
  const WeightTensors packed = *pack(kIndexedMma, logical().views());
  EXPECT_EQ(packed.codes.shape(), (Shape{2, 8, 256}));
  EXPECT_EQ(crc32(bytes_of(packed.codes)), 0x79AB931Cu);
  EXPECT_EQ(packed.codes.as<std::uint32_t>()[0], 0xC93567B5u);
}

TEST(LayoutGolden, IndexedWgmma) {
  const WeightTensors packed = *pack(kIndexedWgmma, logical().views());
  EXPECT_EQ(packed.codes.shape(), (Shape{2, 8, 256}));
  EXPECT_EQ(crc32(bytes_of(packed.codes)), 0x0E6ABDA6u);
  EXPECT_EQ(packed.codes.as<std::uint32_t>()[0], 0xC3956B75u);
}

TEST(LayoutGolden, IndexedScales) {
  for (const WeightLayout* layout : {&kIndexedMma, &kIndexedWgmma}) {
    const WeightTensors packed = *pack(*layout, logical().views());
    EXPECT_EQ(packed.scales.shape(), (Shape{2, 4, 128}));
    EXPECT_EQ(crc32(bytes_of(packed.scales)), 0x5895974Cu);
    const std::vector<std::uint16_t> first = {0x3DA2, 0x3D4C, 0x3D69, 0x3C82};
    for (std::size_t n = 0; n < 4; ++n) EXPECT_EQ(packed.scales.as<std::uint16_t>()[n], first[n]);
  }
}

TEST(LayoutGolden, Grouped) {
  for (const WeightLayout* layout : {&kGroupedContiguous, &kGroupedMasked}) {
    const WeightTensors packed = *pack(*layout, logical().views());
    EXPECT_EQ(packed.codes.shape(), (Shape{2, 128, 64}));
    EXPECT_EQ(crc32(bytes_of(packed.codes)), 0x148B5E73u);
    const std::vector<std::uint8_t> codes = {0x75, 0x6B, 0x95, 0xC3, 0x1E, 0xD5, 0x97, 0x01};
    for (std::size_t n = 0; n < 8; ++n) EXPECT_EQ(packed.codes.as<std::uint8_t>()[n], codes[n]);
    EXPECT_EQ(packed.scales.shape(), (Shape{2, 4, 128}));
    EXPECT_EQ(crc32(bytes_of(packed.scales)), 0xC68D84A0u);
    const std::vector<std::uint16_t> scales = {0x3DA2, 0x3C63, 0x3CFA, 0x3D93};
    for (std::size_t n = 0; n < 4; ++n) EXPECT_EQ(packed.scales.as<std::uint16_t>()[n], scales[n]);
  }
}

std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1)) >> 16);
}

// A product small enough to be exact in FP32 in any order: scales are powers of two, activations -4..4. The
// rows are those of an indexed call with 5 tokens, top_k 2 and blocks of 8 ids; 10 is the sentinel.
class GoldenProduct : public testing::Test {
 protected:
  static constexpr WeightExtent kExtent{4, 128, 128};

  static std::uint32_t checksum(const WeightLayout& layout, decltype(codes_in_mma_registers)* read_codes,
                                std::vector<std::uint16_t>* output = nullptr) {
    const WeightTensors weights = logical_weights(
        kCompressedTensors, kExtent, [](auto e, auto o, auto i) { return mix(e, o, i) & 15; },
        [](auto e, auto o, auto g) { return (127 - 1 - mix(55 + e, o, g) % 4) << 7; });
    const WeightTensors packed = *pack(layout, weights.views());
    const std::vector<std::uint8_t> codes = read_codes(kExtent, packed.codes);
    const std::vector<std::uint16_t> scales = scales_in_indexed_lanes(kExtent, packed.scales);

    const std::vector<int> sorted_ids = {3, 10, 10, 10, 10, 10, 10, 10, 0, 2, 4,  8,  10, 10, 10, 10,
                                         1, 5,  6,  10, 10, 10, 10, 10, 7, 9, 10, 10, 10, 10, 10, 10};
    std::vector<std::uint16_t> rows(10 * 128);
    for (std::size_t at = 0; at < sorted_ids.size(); ++at) {
      const int id = sorted_ids[at];
      if (id == 10) continue;
      const std::size_t e = at / 8;  // blocks of experts 0, 1, 2, 3
      for (std::size_t o = 0; o < 128; ++o) {
        float sum = 0;
        for (std::size_t i = 0; i < 128; ++i) {
          const float scale = std::bit_cast<float>(std::uint32_t{scales[(e * 128 + o) * 4 + i / 32]} << 16);
          const float weight = static_cast<float>(codes[(e * 128 + o) * 128 + i] - 8) * scale;
          const float x = static_cast<float>(mix(777, id / 2, i) % 9) - 4;
          const float product = weight * x;
          sum += product;
        }
        rows[static_cast<std::size_t>(id) * 128 + o] = to_bf16(sum);
      }
    }
    if (output != nullptr) *output = rows;
    return crc32(std::as_bytes(std::span(rows)));
  }
};

TEST_F(GoldenProduct, ThroughBothRegisterOrders) {
  std::vector<std::uint16_t> output;
  EXPECT_EQ(checksum(kIndexedMma, codes_in_mma_registers, &output), 0x922A529Cu);
  EXPECT_EQ(output[0], 0xC187);
  EXPECT_EQ(output[1], 0x4227);
  EXPECT_EQ(output[2], 0x41E9);
  EXPECT_EQ(output[3], 0x41D8);
  EXPECT_EQ(checksum(kIndexedWgmma, codes_in_wgmma_registers), 0x922A529Cu);
}

TEST_F(GoldenProduct, TheWrongOrderShows) {
  EXPECT_NE(checksum(kIndexedMma, codes_in_wgmma_registers), 0x922A529Cu);
}

}  // namespace
}  // namespace moe4::layout_test
