// fill=onehot (DATA-30, DATA-40): every token reads one column of one slot's expert, and the output shows the
// weight.
#include <algorithm>
#include <array>

#include "oracle/generate/fill_data.h"
#include "oracle/generate/int4_scale.h"

namespace moe4::oracle {
namespace {

// A quarter of the scale bytes (for F16 a window of what F16 can show) and the token exponent that brings
// its weights near one.
struct Window {
  int first, size, token_exponent;
};

constexpr std::array<Window, 4> kWide = {{{0, 64, 95}, {64, 64, 31}, {128, 64, -33}, {192, 64, -97}}};
constexpr std::array<Window, 4> kHalf = {{{96, 16, 13}, {112, 16, -3}, {128, 16, -14}, {104, 16, 5}}};

constexpr std::uint16_t kBF16Nan = 0x7FC0;

class Onehot final : public FillData {
 public:
  explicit Onehot(const Case& c) : base_(c), groups_(c.in / kGroupSize) {}

  ExactValue token(std::int64_t t, std::int64_t i) const override {
    const std::int64_t g = group_of(t);
    if (i != g * kGroupSize + column_of(t)) return number(false, 0, 0);
    return number(false, 1, window_of(g).token_exponent);
  }

  void row(std::int64_t e, std::int64_t o, std::span<std::uint8_t> codes,
           std::span<std::uint16_t> scales) const override {
    const std::int64_t rank = o - o / 65;  // among the rows without NaN
    for (std::size_t n = 0; n < scales.size(); ++n) {
      const auto g = static_cast<std::int64_t>(n);
      const Window& window = window_of(g);
      const std::int64_t place = (rank + 7 * e + 8 * (g / 4)) % window.size;
      const std::int64_t byte = window.first + place;
      const bool nan = o % 65 == 64 && (g + o / 65) % 4 == 0;
      scales[n] = base_.int4 ? int4_scale(base_.root(kScaleStream)(e)(o)(g), byte, nan)
                             : static_cast<std::uint16_t>(nan ? 255 : std::min<std::int64_t>(byte, 254));
      for (std::int64_t l = 0; l < kGroupSize; ++l) {
        codes[n * kGroupSize + static_cast<std::size_t>(l)] =
            static_cast<std::uint8_t>((l + 3 * place + e / 64 + 5 * (g / 4) + o / 64) % 16);
      }
    }
  }

  void mixture(std::int64_t t, std::span<ExactValue> p) const override {
    const auto top_k = static_cast<std::int64_t>(p.size());
    for (std::int64_t j = 0; j < top_k; ++j) {
      const bool reads = (t + t / groups_) % top_k == j;
      p[static_cast<std::size_t>(j)] = number(false, reads ? (base_.poison ? 2 : 1) : 0, 0);
    }
  }

  ExactValue shared(std::int64_t t, std::int64_t o) const override {
    return number(base_.root(kSharedStream)(t)(o).bits(0, 1) != 0, 0, 0);
  }

 private:
  // An infinite weight would hide every other column behind its product with a zero token.
  static std::uint16_t int4_scale(Key key, std::int64_t field, bool nan) {
    return nan ? kBF16Nan : full_scale(key, std::min<std::int64_t>(field, kInt4LastField));
  }

  // Groups from both ends inwards, so that a few tokens read the tail; 32·G tokens read every column once.
  std::int64_t group_of(std::int64_t t) const {
    const std::int64_t turn = t % groups_;
    return turn % 2 == 0 ? groups_ - 1 - turn / 2 : turn / 2;
  }
  std::int64_t column_of(std::int64_t t) const { return (t / groups_ + 5 * (t % groups_)) % kGroupSize; }

  const Window& window_of(std::int64_t g) const {
    const std::int64_t quarter = (g + base_.root(kGroupStream).bits(0, 2)) % 4;
    return (base_.half_range ? kHalf : kWide)[static_cast<std::size_t>(quarter)];
  }

  FillBase base_;
  std::int64_t groups_;
};

}  // namespace

std::unique_ptr<FillData> make_onehot_fill(const Case& c) { return std::make_unique<Onehot>(c); }

}  // namespace moe4::oracle
