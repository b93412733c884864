// fill=subnormal (DATA-31, DATA-37): subnormal tokens, tiny weights, and outputs around the smallest normal
// number.
#include "oracle/generate/fill_data.h"
#include "oracle/generate/int4_scale.h"
#include "oracle/generate/uniform_codes.h"

namespace moe4::oracle {
namespace {

class Subnormal final : public FillData {
 public:
  explicit Subnormal(const Case& c) : base_(c), lsb_(base_.format.lsb_exponent()) {
    normal_exponent_ = base_.half_range ? -10 : c.dtype == Dtype::kF64 ? -1000 : -60;
  }

  ExactValue token(std::int64_t t, std::int64_t i) const override {
    const Key key = base_.root(kTokenStream)(t)(i);
    const bool negative = key.bits(0, 1) != 0;
    const std::int64_t hidden = std::int64_t{1} << base_.format.mantissa_bits;
    if (subnormal_group(i / kGroupSize)) return number(negative, 1 + key(0).pick(hidden - 1), lsb_);
    return number(negative, hidden | key(0).bits(0, base_.format.mantissa_bits),
                  normal_exponent_ - base_.format.mantissa_bits);
  }

  void row(std::int64_t e, std::int64_t o, std::span<std::uint8_t> codes,
           std::span<std::uint16_t> scales) const override {
    const Key scale_key = base_.root(kScaleStream)(e)(o);
    const std::int64_t down = base_.root(kRowStream)(o).bits(0, 4);
    uniform_codes(base_.root(kCodeStream)(e)(o), codes);
    for (std::size_t n = 0; n < scales.size(); ++n) {
      const auto g = static_cast<std::int64_t>(n);
      const std::int64_t center = subnormal_group(g) ? 127 : normal_group_byte();
      const std::int64_t byte = center - down + scale_key(g).pick(4);
      scales[n] = base_.int4 ? full_scale(scale_key(g)(1), byte) : static_cast<std::uint16_t>(byte);
    }
  }

  void mixture(std::int64_t t, std::span<ExactValue> p) const override {
    const Key key = base_.root(kMixtureStream)(t);
    for (std::size_t j = 0; j < p.size(); ++j) {
      const Key draw = key(static_cast<std::int64_t>(j));
      p[j] = number(draw.bits(0, 1) != 0, 64 + draw.bits(1, 6), -7);
    }
  }

  ExactValue shared(std::int64_t t, std::int64_t o) const override {
    const Key key = base_.root(kSharedStream)(t)(o);
    return number(key.bits(0, 1) != 0, key(0).bits(0, base_.format.mantissa_bits), lsb_);
  }

 private:
  bool subnormal_group(std::int64_t g) const { return base_.root(kGroupStream)(g).bits(0, 1) == 0; }

  // The products of normal tokens are as small as those of the largest subnormal ones.
  std::int64_t normal_group_byte() const {
    return 127 + lsb_ + base_.format.mantissa_bits - 1 - normal_exponent_;
  }

  FillBase base_;
  int lsb_;
  int normal_exponent_;
};

}  // namespace

std::unique_ptr<FillData> make_subnormal_fill(const Case& c) { return std::make_unique<Subnormal>(c); }

}  // namespace moe4::oracle
