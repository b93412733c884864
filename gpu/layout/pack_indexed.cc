// Words for indexed kernels. A lane t of a warp that owns 64 outputs loads four words per 16 inputs; word r
// serves outputs 16r + t/4 and 16r + 8 + t/4 with the inputs 2(t%4), 2(t%4)+1, and the same 8 further. That
// is one source byte from each of four places; their low nibbles (even inputs) fill the word's low half and
// their high nibbles the high half.
#include "gpu/layout/bits.h"
#include "gpu/layout/packers.h"

namespace moe4::gpu {
namespace {

constexpr std::int64_t kOutTile = 64;  // outputs of a warp

// The order of the four registers: by output then input (mma), or by input then output (wgmma).
enum class Registers { kOutFirst, kInFirst };

std::uint32_t byte_at(std::uint64_t row, int n) { return static_cast<std::uint32_t>(row >> (8 * n)) & 0xFFu; }

// row, row8: 16 inputs of the outputs n and n+8. pair: t%4.
template <Registers registers>
std::uint32_t lane_word(std::uint64_t row, std::uint64_t row8, int pair) {
  std::uint32_t x = byte_at(row, pair) | byte_at(row8, pair + 4) << 24;
  if constexpr (registers == Registers::kOutFirst) {
    x |= byte_at(row, pair + 4) << 8 | byte_at(row8, pair) << 16;
  } else {
    x |= byte_at(row8, pair) << 8 | byte_at(row, pair + 4) << 16;
  }
  return bytes_to_nibbles(x) | bytes_to_nibbles(x >> 4) << 16;
}

template <Registers registers>
void pack_words(const WeightShape& shape, const std::byte* from, std::byte* to) {
  const std::int64_t row_bytes = shape.in / 2;
  const std::int64_t steps = shape.in / 16;
  const std::int64_t step_bytes = shape.out * 8;
  for (std::int64_t e = 0; e < shape.experts; ++e) {
    for (std::int64_t tile = 0; tile < shape.out; tile += kOutTile) {
      for (std::int64_t step = 0; step < steps; ++step) {
        std::byte* words = to + step * step_bytes + tile * 8;
        for (int t = 0; t < 32; ++t) {
          for (int r = 0; r < 4; ++r) {
            const std::byte* source = from + (tile + 16 * r + t / 4) * row_bytes + step * 8;
            const auto row = load<std::uint64_t>(source);
            const auto row8 = load<std::uint64_t>(source + 8 * row_bytes);
            store(words + 4 * (4 * t + r), lane_word<registers>(row, row8, t % 4));
          }
        }
      }
    }
    from += shape.out * row_bytes;
    to += steps * step_bytes;
  }
}

// A lane reads the scales of its eight outputs t/4, t/4 + 8, ... as one run of 16 bytes.
void pack_scales(const WeightShape& shape, const std::byte* from, std::byte* to) {
  const std::int64_t groups = shape.groups();
  for (std::int64_t e = 0; e < shape.experts; ++e) {
    for (std::int64_t g = 0; g < groups; ++g) {
      for (std::int64_t tile = 0; tile < shape.out; tile += kOutTile) {
        for (std::int64_t n = 0; n < 8; ++n) {
          for (std::int64_t j = 0; j < 8; ++j) {
            store(to, load<std::uint16_t>(from + 2 * ((tile + 8 * j + n) * groups + g)));
            to += 2;
          }
        }
      }
    }
    from += 2 * shape.out * groups;
  }
}

}  // namespace

void pack_indexed_mma(const WeightShape& shape, const PackerSource& from, const PackerTarget& to) {
  pack_words<Registers::kOutFirst>(shape, from.codes.data(), to.codes.data());
  pack_scales(shape, from.scales.data(), to.scales.data());
}

void pack_indexed_wgmma(const WeightShape& shape, const PackerSource& from, const PackerTarget& to) {
  pack_words<Registers::kInFirst>(shape, from.codes.data(), to.codes.data());
  pack_scales(shape, from.scales.data(), to.scales.data());
}

}  // namespace moe4::gpu
