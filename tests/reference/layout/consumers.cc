#include "tests/reference/layout/consumers.h"

namespace moe4::layout_test {
namespace {

constexpr std::uint8_t kUnseen = 0xFF;

// The logical array that lanes fill in, one code after another; a code met twice is marked as unseen again.
class Seen {
 public:
  explicit Seen(const WeightExtent& extent)
      : extent_(extent), codes_(static_cast<std::size_t>(extent.experts * extent.out * extent.in), kUnseen) {}

  void put(std::int64_t e, std::int64_t o, std::int64_t i, unsigned code) {
    std::uint8_t& at = codes_[static_cast<std::size_t>((e * extent_.out + o) * extent_.in + i)];
    at = at == kUnseen ? static_cast<std::uint8_t>(code) : kUnseen;
  }

  // A register of a lane: two 16-bit halves, an even and the following odd input.
  void put_register(std::int64_t e, std::int64_t o, std::int64_t even, std::uint32_t word, int n) {
    put(e, o, even, word >> (4 * n) & 15);
    put(e, o, even + 1, word >> (4 * (n + 4)) & 15);
  }

  std::vector<std::uint8_t> take() { return std::move(codes_); }

 private:
  WeightExtent extent_;
  std::vector<std::uint8_t> codes_;
};

// Fragment register n of mma.m16n8k16's B pairs (two fragments of 8 outputs), or of wgmma's A.
struct Fragment {
  int out8, in8;
};
constexpr Fragment kMma[4] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
constexpr Fragment kWgmma[4] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}};

std::vector<std::uint8_t> codes_in_registers(const WeightExtent& x, const Tensor& words,
                                             const Fragment (&fragments)[4]) {
  Seen seen(x);
  const auto data = words.as<std::int32_t>();
  const std::int64_t row_words = 2 * x.out;
  for (std::int64_t e = 0; e < x.experts; ++e) {
    for (std::int64_t row = 0; row < x.in / 16; ++row) {
      for (std::int64_t block = 0; block < x.out / 64; ++block) {
        for (int lane = 0; lane < 32; ++lane) {
          for (int r = 0; r < 4; ++r) {
            const std::int64_t at = (e * (x.in / 16) + row) * row_words + block * 128 + 4 * lane + r;
            const auto word = static_cast<std::uint32_t>(data[static_cast<std::size_t>(at)]);
            for (int n = 0; n < 4; ++n) {
              seen.put_register(e, 64 * block + 16 * r + 8 * fragments[n].out8 + lane / 4,
                                16 * row + 8 * fragments[n].in8 + 2 * (lane % 4), word, n);
            }
          }
        }
      }
    }
  }
  return seen.take();
}

}  // namespace

std::vector<std::uint8_t> codes_in_mma_registers(const WeightExtent& extent, const Tensor& words) {
  return codes_in_registers(extent, words, kMma);
}

std::vector<std::uint8_t> codes_in_wgmma_registers(const WeightExtent& extent, const Tensor& words) {
  return codes_in_registers(extent, words, kWgmma);
}

std::vector<std::uint16_t> scales_in_indexed_lanes(const WeightExtent& x, const Tensor& scales) {
  const auto data = scales.as<std::uint16_t>();
  std::vector<std::uint16_t> seen(data.size());
  for (std::int64_t e = 0; e < x.experts; ++e) {
    for (std::int64_t g = 0; g < x.groups(); ++g) {
      for (std::int64_t block = 0; block < x.out / 64; ++block) {
        for (int lane = 0; lane < 32; lane += 4) {  // the lanes of a quad read the same
          const std::int64_t first = (e * x.groups() + g) * x.out + 64 * block + 8 * (lane / 4);
          for (int j = 0; j < 8; ++j) {
            const std::int64_t o = 64 * block + 8 * j + lane / 4;
            seen[static_cast<std::size_t>((e * x.out + o) * x.groups() + g)] =
                data[static_cast<std::size_t>(first + j)];
          }
        }
      }
    }
  }
  return seen;
}

std::vector<std::uint8_t> codes_after_ldmatrix(const WeightExtent& x, const Tensor& bytes) {
  Seen seen(x);
  const std::int64_t row_bytes = x.in / 2;
  for (std::int64_t e = 0; e < x.experts; ++e) {
    for (std::int64_t tile = 0; tile < x.out; tile += 64) {
      for (int warp = 0; warp < 4; ++warp) {
        for (std::int64_t chunk = 0; chunk < row_bytes / 32; ++chunk) {
          for (int lane = 0; lane < 32; ++lane) {
            for (int q = 0; q < 4; ++q) {  // ldmatrix.x4: four registers
              const std::int64_t row = tile + 16 * warp + 8 * (q & 1) + lane / 4;
              const std::int64_t at = 32 * chunk + 16 * (q >> 1) + 4 * (lane % 4);
              const std::byte* source = bytes.data() + (e * x.out + row) * row_bytes + at;
              std::uint32_t word = 0;
              for (int b = 3; b >= 0; --b) word = word << 8 | std::to_integer<std::uint32_t>(source[b]);
              const std::int64_t step = 4 * chunk + q;  // which 16 inputs
              for (int n = 0; n < 4; ++n) {
                seen.put_register(e, tile + 16 * warp + 8 * (n & 1) + lane / 4,
                                  16 * step + 8 * (n >> 1) + 2 * (lane % 4), word, n);
              }
            }
          }
        }
      }
    }
  }
  return seen.take();
}

}  // namespace moe4::layout_test
