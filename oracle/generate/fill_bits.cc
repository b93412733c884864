// fill=bits (DATA-25, DATA-37): uniform nibbles, scale bytes from all of 0..254, full random significands.
#include <algorithm>

#include "oracle/generate/fill_data.h"
#include "oracle/generate/int4_scale.h"
#include "oracle/generate/matched_scales.h"
#include "oracle/generate/uniform_codes.h"

namespace moe4::oracle {
namespace {

class Bits final : public FillData {
 public:
  explicit Bits(const Case& c)
      : base_(c),
        scales_(bits_scales(base_)),
        max_row_shift_(scales_.spread() / 3),
        edges_(!c.scales && !base_.half_range) {}

  ExactValue token(std::int64_t t, std::int64_t i) const override {
    const Key key = base_.root(kTokenStream)(t)(i);
    const int exponent = token_exponent(i / kGroupSize) + static_cast<int>(key.bits(1, 1));
    if (key.bits(2, 6) == 0) return number(key.bits(0, 1) != 0, 0, 0);
    return full_significand(key, base_.format, exponent);
  }

  void row(std::int64_t e, std::int64_t o, std::span<std::uint8_t> codes,
           std::span<std::uint16_t> scales) const override {
    const Key scale_key = base_.root(kScaleStream)(e)(o);
    uniform_codes(base_.root(kCodeStream)(e)(o), codes);
    const std::int64_t width = row_width(o);
    for (std::size_t n = 0; n < scales.size(); ++n) {
      const auto g = static_cast<std::int64_t>(n);
      const Edge edge = edge_of(g);
      const std::int64_t byte = edge == Edge::kNone
                                    ? scales_.base(g) + row_shift(o) + scale_key(g).pick(width)
                                    : edge_first(edge) + scale_key(g).bits(0, 2);
      scales[n] = base_.int4 ? full_scale(scale_key(g)(1), byte) : static_cast<std::uint16_t>(byte);
    }
  }

  void mixture(std::int64_t t, std::span<ExactValue> p) const override {
    const Key key = base_.root(kMixtureStream)(t);
    const FloatFormat format = format_of(base_.line.mixture_dtype());
    for (std::size_t j = 0; j < p.size(); ++j) {
      const Key draw = key(static_cast<std::int64_t>(j));
      p[j] = full_significand(draw, format, -static_cast<int>(draw.bits(1, 1)));
    }
  }

  ExactValue shared(std::int64_t t, std::int64_t o) const override {
    const Key key = base_.root(kSharedStream)(t)(o);
    const int exponent = scales_.target() - 127 + row_shift(o) + 3 + static_cast<int>(key.bits(1, 2));
    return full_significand(key, format_of(base_.line.shared_dtype()), exponent);
  }

 private:
  // The ends of the byte range get groups of their own, since a window that slides meets them seldom.
  enum class Edge { kNone, kLow, kHigh };

  Edge edge_of(std::int64_t g) const {
    if (!edges_) return Edge::kNone;
    const std::int64_t draw = base_.root(kPlantStream)(g).bits(0, 4);
    return draw == 0 ? Edge::kLow : draw == 1 ? Edge::kHigh : Edge::kNone;
  }
  int edge_first(Edge edge) const { return edge == Edge::kLow ? 0 : base_.int4 ? kInt4LastField - 3 : 251; }

  int token_exponent(std::int64_t g) const {
    const Edge edge = edge_of(g);
    if (edge == Edge::kNone) return scales_.token_exponent(g);
    return std::max(scales_.target() - edge_first(edge), -126);
  }

  static ExactValue full_significand(Key key, const FloatFormat& format, int exponent) {
    const std::int64_t hidden = std::int64_t{1} << format.mantissa_bits;
    return number(key.bits(0, 1) != 0, hidden | key(0).bits(0, format.mantissa_bits),
                  exponent - format.mantissa_bits);
  }

  int row_shift(std::int64_t o) const {
    return static_cast<int>(base_.root(kRowStream)(o).pick(max_row_shift_ + 1));
  }
  std::int64_t row_width(std::int64_t o) const {
    const std::int64_t width = std::int64_t{1} << base_.root(kRowStream)(o)(0).bits(0, 2);
    return std::min<std::int64_t>(width, scales_.spread() - max_row_shift_ + 1);
  }

  FillBase base_;
  MatchedScales scales_;
  int max_row_shift_;
  bool edges_;
};

}  // namespace

std::unique_ptr<FillData> make_bits_fill(const Case& c) { return std::make_unique<Bits>(c); }

}  // namespace moe4::oracle
