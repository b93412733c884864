#include "tests/gpu/ptx/plain_tensor_core.h"

#include <bit>
#include <cmath>

#include "tests/gpu/ptx/operands.h"

namespace moe4::ptx::test {
namespace {

void multiply_add(const void*, const TensorTile& tile) {
  for (std::uint32_t r = 0; r < tile.rows; ++r) {
    for (std::uint32_t c = 0; c < tile.columns; ++c) {
      std::uint32_t& d = tile.d[r * tile.columns + c];
      float sum = std::bit_cast<float>(d);
      for (std::uint32_t i = 0; i < tile.k; ++i) {
        const float product =
            value_of(tile.type, tile.a[r * tile.k + i]) * value_of(tile.type, tile.b[c * tile.k + i]);
        sum = sum + product;
      }
      d = std::bit_cast<std::uint32_t>(sum);
    }
  }
}

}  // namespace

float value_of(TensorType type, std::uint16_t bits) {
  if (type == TensorType::kBF16) return std::bit_cast<float>(std::uint32_t{bits} << 16);
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const float sign = bits & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 31) return fraction ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
}

std::uint16_t encode_small(TensorType type, int value) {
  if (type == TensorType::kBF16) {
    return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16);
  }
  if (value == 0) return 0;
  int exponent = 0;
  while (std::abs(value) >> (exponent + 1)) ++exponent;
  const int fraction = (std::abs(value) << (10 - exponent)) - 1024;
  return static_cast<std::uint16_t>((value < 0 ? 0x8000 : 0) | ((exponent + 15) << 10) | fraction);
}

const TensorCore& plain_tensor_core() {
  static const TensorCore core{"plain", &multiply_add, nullptr};
  return core;
}

std::vector<int> small_integers(std::uint32_t seed, std::size_t count, int limit) {
  Lcg random(seed);
  std::vector<int> values(count);
  for (int& v : values) v = static_cast<int>(random.below(static_cast<std::uint32_t>(2 * limit + 1))) - limit;
  return values;
}

}  // namespace moe4::ptx::test
