// Bytes for grouped kernels. The outputs n and n+8 with 32 inputs are 2 × 16 bytes on both sides: the first
// 16 inputs of both go to the target's row n, the last 16 to row n+8. In 16 target bytes the nibbles come in
// fours: input k of output n, of output n+8, then input k+8 of both, for k = 0..7.
#include "gpu/layout/bits.h"
#include "gpu/layout/packers.h"

namespace moe4::gpu {
namespace {

// row, row8: 16 inputs of the outputs n and n+8.
void store_operand(std::uint64_t row, std::uint64_t row8, std::byte* to) {
  for (int half = 0; half < 2; ++half) {
    const int low = 16 * half;  // inputs 4 half … 4 half + 3
    const auto nibbles = [low](std::uint64_t x, int from) {
      return nibbles_to_halfwords(static_cast<std::uint32_t>(x >> (low + from)));
    };
    store(to + 8 * half,
          nibbles(row, 0) | nibbles(row8, 0) << 4 | nibbles(row, 32) << 8 | nibbles(row8, 32) << 12);
  }
}

void pack_codes(const WeightShape& shape, const std::byte* from, std::byte* to) {
  const std::int64_t row_bytes = shape.in / 2;
  const std::int64_t rows = shape.experts * shape.out;
  for (std::int64_t base = 0; base < rows; base += 16) {
    for (std::int64_t n = base; n < base + 8; ++n) {
      const std::int64_t n8 = n + 8;
      for (std::int64_t at = 0; at < row_bytes; at += 16) {
        const std::byte* row = from + n * row_bytes + at;
        const std::byte* row8 = from + n8 * row_bytes + at;
        store_operand(load<std::uint64_t>(row), load<std::uint64_t>(row8), to + n * row_bytes + at);
        store_operand(load<std::uint64_t>(row + 8), load<std::uint64_t>(row8 + 8), to + n8 * row_bytes + at);
      }
    }
  }
}

void transpose_scales(const WeightShape& shape, const std::byte* from, std::byte* to) {
  const std::int64_t groups = shape.groups();
  for (std::int64_t e = 0; e < shape.experts; ++e) {
    for (std::int64_t g = 0; g < groups; ++g) {
      for (std::int64_t o = 0; o < shape.out; ++o) {
        store(to, load<std::uint16_t>(from + 2 * (o * groups + g)));
        to += 2;
      }
    }
    from += 2 * shape.out * groups;
  }
}

}  // namespace

void pack_grouped(const WeightShape& shape, const PackerSource& from, const PackerTarget& to) {
  pack_codes(shape, from.codes.data(), to.codes.data());
  transpose_scales(shape, from.scales.data(), to.scales.data());
}

}  // namespace moe4::gpu
