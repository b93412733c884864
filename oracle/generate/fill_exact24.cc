// fill=exact24 (DATA-23, DATA-36): dense integers; every sum stays below 2^24 units, so that FP32 in any
// order is exact.
#include <algorithm>

#include "oracle/generate/fill_data.h"
#include "oracle/generate/int4_scale.h"
#include "oracle/generate/matched_scales.h"
#include "oracle/generate/uniform_codes.h"

namespace moe4::oracle {
namespace {

// Tokens shrink along the row, so that the sum grows slowly with the width while group 0 has full
// significands.
std::int64_t largest_token(std::int64_t g) {
  if (g < 2) return 127;
  if (g < 8) return 31;
  return g < 32 ? 7 : 3;
}

// DATA-36: mostly -1, 0 and 1, and thin further on, since the weights have eight significant bits and more.
std::int64_t int4_token(Key key, std::int64_t g) {
  if (g < 2) return key.pick(4);
  if (g < 8) return key.pick(2);
  return key.bits(0, g < 32 ? 3 : 4) == 0 ? 1 : 0;
}

class Exact24 final : public FillData {
 public:
  explicit Exact24(const Case& c)
      : base_(c),
        scales_(exact_scales(base_)),
        max_row_shift_(std::min(4, scales_.spread())),
        max_shift_(std::min(1, scales_.spread() - max_row_shift_)),
        p_exponent_(base_.poison ? -3 : -1) {}

  ExactValue token(std::int64_t t, std::int64_t i) const override {
    const Key key = base_.root(kTokenStream)(t)(i);
    const std::int64_t g = i / kGroupSize;
    const std::int64_t size = base_.int4 ? int4_token(key(0), g) : key(0).pick(largest_token(g) + 1);
    return number(key.bits(0, 1) != 0, size, scales_.token_exponent(g));
  }

  void row(std::int64_t e, std::int64_t o, std::span<std::uint8_t> codes,
           std::span<std::uint16_t> scales) const override {
    const Key scale_key = base_.root(kScaleStream)(e)(o);
    const int row_shift = shift_of(o);
    uniform_codes(base_.root(kCodeStream)(e)(o), codes);
    for (std::size_t n = 0; n < scales.size(); ++n) {
      const auto g = static_cast<std::int64_t>(n);
      const std::int64_t byte = scales_.base(g) + row_shift;
      scales[n] = base_.int4 ? full_scale(scale_key(g), byte)
                             : static_cast<std::uint16_t>(byte + scale_key(g).pick(max_shift_ + 1));
    }
  }

  void mixture(std::int64_t t, std::span<ExactValue> p) const override {
    const Key key = base_.root(kMixtureStream)(t);
    for (std::size_t j = 0; j < p.size(); ++j) {
      const Key draw = key(static_cast<std::int64_t>(j));
      p[j] = number(draw.bits(0, 1) != 0, 1 + draw.bits(1, 1), p_exponent_);
    }
  }

  ExactValue shared(std::int64_t t, std::int64_t o) const override {
    const Key key = base_.root(kSharedStream)(t)(o);
    const int lift = static_cast<int>(key.bits(1, 3)) + (base_.int4 ? 4 : 0);
    return number(key.bits(0, 1) != 0, key(0).pick(256), unit_exponent(o) + p_exponent_ + lift);
  }

 private:
  // Weights of full scale mantissas are whole multiples of 2^-7 of the power of two.
  int unit_exponent(std::int64_t o) const {
    return base_.unit_exponent(scales_.target() + shift_of(o)) - (base_.int4 ? 7 : 0);
  }

  int shift_of(std::int64_t o) const {
    return static_cast<int>(base_.root(kRowStream)(o).pick(max_row_shift_ + 1));
  }

  FillBase base_;
  MatchedScales scales_;
  int max_row_shift_, max_shift_, p_exponent_;
};

}  // namespace

std::unique_ptr<FillData> make_exact24_fill(const Case& c) { return std::make_unique<Exact24>(c); }

}  // namespace moe4::oracle
