// fill=nonfinite (DATA-32, DATA-41): fill=real with NaN, Inf, zero factors, scale byte 255 and overflow
// planted.
#include <algorithm>
#include <cstdlib>

#include "oracle/generate/int4_scale.h"
#include "oracle/generate/real_like.h"
#include "oracle/generate/row_atoms.h"

namespace moe4::oracle {
namespace {

ExactValue nan_of(Key key) {
  ExactValue nan = ExactValue::nan();
  nan.negative = key.bits(0, 1) != 0;
  nan.significand = key(0).word();
  return nan;
}

class Nonfinite final : public RealLike {
 public:
  using RealLike::RealLike;

  ExactValue token(std::int64_t t, std::int64_t i) const override {
    const Key key = base_.root(kPlantStream)(t);
    const std::int64_t kind = key.bits(0, 3);
    const std::int64_t first = place(key(1));
    const std::int64_t second = place(key(2));
    switch (kind) {
      case 0:
      case 7:
        return positive(RealLike::token(t, i));
      case 1:
        if (i == first) return nan_of(key(3));
        break;
      case 2:
      case 3:
        if (i == first) return ExactValue::inf(kind == 3);
        break;
      case 4:
        if (i == first || i == second) return ExactValue::inf(i == first);
        break;
      case 5:
        if (i == first) return largest(key(3));
        break;
      default:
        break;
    }
    return RealLike::token(t, i);
  }

  void row(std::int64_t e, std::int64_t o, std::span<std::uint8_t> codes,
           std::span<std::uint16_t> scales) const override {
    RealLike::row(e, o, codes, scales);
    const Key key = base_.root(kRowStream)(e)(o)(0);
    // Three experts in four stay finite, so that tokens of many slots don't all end as NaN.
    if (base_.root(kPlantStream)(-1)(e).bits(0, 2) != 0) return;
    const std::int64_t kind = key.bits(0, 4);
    if (kind == 0) {
      for (std::uint16_t& scale : scales) scale = base_.int4 ? large_scale(scale) : large_byte(scale);
    } else if (kind <= 4) {
      const auto g = static_cast<std::size_t>(dyadic_group(key(1)));
      if (g >= scales.size()) return;
      scales[g] = base_.int4 ? nonfinite_scale(key(2)) : std::uint16_t{255};
      if (kind > 1) one_sign(key(3).bits(0, 1) != 0, codes.subspan(g * kGroupSize, kGroupSize));
    }
  }

  void mixture(std::int64_t t, std::span<ExactValue> p) const override {
    RealLike::mixture(t, p);
    const bool planted = base_.root(kPlantStream)(t).bits(0, 3) == 6;
    const Key key = base_.root(kPlantStream)(t)(4);
    for (std::size_t j = 0; j < p.size(); ++j) {
      const Key draw = key(static_cast<std::int64_t>(j));
      const std::int64_t kind = draw.bits(0, 3);
      const bool negative = draw.bits(3, 1) != 0;
      if (kind == 0) p[j] = number(negative, 0, 0);
      if (kind == 1 && planted) p[j] = nan_of(draw(0));
      if (kind >= 6 && planted) p[j] = ExactValue::inf(negative);
    }
  }

  ExactValue shared(std::int64_t t, std::int64_t o) const override {
    const Key key = base_.root(kPlantStream)(t)(5)(o);
    const std::int64_t kind = key.bits(0, 5);
    if (kind == 0) return nan_of(key(0));
    if (kind <= 2) return ExactValue::inf(kind == 2);
    return RealLike::shared(t, o);
  }

 private:
  // A group of one sign without zeros, met by a token of one sign, is infinite where its scale is read as
  // infinity and not as NaN; any other group is NaN either way.
  void one_sign(bool negative, std::span<std::uint8_t> codes) const {
    for (std::uint8_t& code : codes) {
      const int size = base_.int4 ? std::abs(code - 8) : code & 7;
      const int not_zero = std::max(size, 1);
      code = static_cast<std::uint8_t>(base_.int4 ? 8 + (negative ? -not_zero : not_zero)
                                                  : not_zero + (negative ? 8 : 0));
    }
  }
  static ExactValue positive(ExactValue x) {
    x.negative = false;
    return x.is_zero() ? number(false, 1, -32) : x;
  }
  static std::uint16_t large_byte(std::uint16_t byte) { return static_cast<std::uint16_t>(250 + byte % 5); }
  // DATA-41: the field goes up, so that weights overflow BF16; the mantissa stays.
  static std::uint16_t large_scale(std::uint16_t scale) {
    return bf16_scale(false, 250 + scale / 128 % 5, scale % 128);
  }
  static std::uint16_t nonfinite_scale(Key key) {
    const bool nan = key.bits(1, 1) == 0;
    return bf16_scale(key.bits(0, 1) != 0, 255, nan ? 1 + key(0).pick(127) : 0);
  }

  static std::int64_t place(Key key) { return dyadic_group(key) * kGroupSize + key.bits(16, 5); }

  ExactValue largest(Key key) const {
    const FloatFormat& f = base_.format;
    const std::int64_t significand = (std::int64_t{2} << f.mantissa_bits) - 1;
    return number(key.bits(0, 1) != 0, significand, f.bias() - f.mantissa_bits);
  }
};

}  // namespace

std::unique_ptr<FillData> make_nonfinite_fill(const Case& c) { return std::make_unique<Nonfinite>(c); }

}  // namespace moe4::oracle
