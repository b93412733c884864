// A published-pattern case whose sums are exact in F32 in any order, so that its output is known to the bit:
// codes, scales and tokens by a hash, checked by CRC-32.
#include <gtest/gtest.h>

#include <cstdint>

#include "reference/linear/indexed.h"
#include "reference/routing/contract.h"
#include "tests/reference/problem.h"
#include "tests/reference/routing_problem.h"

namespace moe4::test {
namespace {

std::uint32_t mix(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  std::uint32_t h = a * 0x9E3779B1 + b * 0x85EBCA77 + c * 0xC2B2AE3D + 0x165667B1;
  h ^= h >> 15;
  h *= 0x2C1B3C6D;
  return h ^ (h >> 12);
}

// CRC-32 as in zlib.
std::uint32_t crc32(const std::vector<std::uint8_t>& bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const std::uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc % 2 == 1 ? 0xEDB88320 : 0);
  }
  return ~crc;
}

Layer golden_layer(std::int64_t experts) {
  Layer layer(WeightFormat::kInt4, 5, experts, 128, 128);
  for (std::uint32_t e = 0; e < experts; ++e) {
    for (std::uint32_t n = 0; n < 128; ++n) {
      for (std::uint32_t k = 0; k < 128; ++k) {
        layer.code(e, n, k, static_cast<std::uint8_t>(mix(e, n, k) & 15));
      }
      for (std::uint32_t g = 0; g < 4; ++g) {
        set(layer.scales, (e * 128 + n) * 4 + g, 1.0 / (2U << (mix(55 + e, n, g) % 4)));
      }
    }
  }
  for (std::uint32_t m = 0; m < 5; ++m) {
    for (std::uint32_t k = 0; k < 128; ++k) {
      set(layer.tokens, m * 128 + k, static_cast<double>(mix(777, m, k) % 9) - 4);
    }
  }
  return layer;
}

TEST(IndexedGolden, CheckpointWords) {
  const Layer layer = golden_layer(2);
  EXPECT_EQ(bits_at(layer.packed_weights, 0), 0x890F7E55U);
  EXPECT_EQ(crc32(bytes_of(layer.packed_weights)), 0x613D72E7U);
}

TEST(IndexedGolden, Output) {
  const Layer layer = golden_layer(4);
  const Routes routes{5, 2, {1, 2, 1, 0, 1, 2, 2, 3, 1, 3}};
  const AlignedRoutes aligned = align_blocks(routes, 4, 8);
  EXPECT_EQ(aligned.num_tokens_padded, 32);
  EXPECT_EQ(aligned.sorted_ids,
            (std::vector<std::int32_t>{3, 10, 10, 10, 10, 10, 10, 10, 0, 2, 4,  8,  10, 10, 10, 10,
                                       1, 5,  6,  10, 10, 10, 10, 10, 7, 9, 10, 10, 10, 10, 10, 10}));
  const IndexedInputs inputs = indexed_inputs(layer, aligned);
  EXPECT_EQ(message_of(validate_contract(inputs)), "");
  const auto result = indexed(inputs);
  ASSERT_TRUE(result.ok()) << result.error().message();
  EXPECT_EQ(result->written, std::vector<std::uint8_t>(10, 1));
  EXPECT_EQ(bits_at(result->output, 0), 0xC187U);
  EXPECT_EQ(bits_at(result->output, 1), 0x4227U);
  EXPECT_EQ(bits_at(result->output, 2), 0x41E9U);
  EXPECT_EQ(bits_at(result->output, 3), 0x41D8U);
  EXPECT_EQ(crc32(bytes_of(result->output)), 0x922A529CU);
}

}  // namespace
}  // namespace moe4::test
