// fill=ties (DATA-24, DATA-38, DATA-43): every output lies exactly between two neighbouring values of the
// output dtype.
#include <algorithm>

#include "oracle/generate/fill_data.h"
#include "oracle/generate/int4_scale.h"
#include "oracle/generate/matched_scales.h"
#include "oracle/generate/row_atoms.h"

namespace moe4::oracle {
namespace {

// In units of half an ulp of the output: shared is an even number 2M, the routed sum is odd and at most 55.
// Odd: column `odd_column` of group 0 holds an odd product in every row, all other tokens are even, the
// factor of slot 0 is one and those of all other slots are even.
class Ties final : public FillData {
 public:
  explicit Ties(const Case& c)
      : base_(c),
        scales_(exact_scales(base_)),
        max_row_shift_(std::min(4, scales_.spread())),
        odd_column_(base_.root(kPlantStream).pick(kGroupSize)),
        p_exponent_(base_.poison ? -2 : 0),
        shared_bits_(std::min(base_.format.mantissa_bits, format_of(c.shared_dtype()).mantissa_bits) + 1),
        dropped_(base_.format.mantissa_bits + 1 - shared_bits_),
        rows_(is_row_op(c.op)),
        lowered_(c.shared_dtype() == Dtype::kF16 && dropped_ > 0 ? dropped_ + 8 : 0) {}

  ExactValue token(std::int64_t t, std::int64_t i) const override {
    const Key key = base_.root(kTokenStream)(t)(i);
    if (rows_ && i == body_column()) {
      return number(key.bits(0, 1) != 0, 131 + key(0).pick(123), scales_.token_exponent(0));
    }
    const std::int64_t units = i == odd_column_ ? 1 : 2 * key.bits(1, 1);
    return number(key.bits(0, 1) != 0, units, scales_.token_exponent(i / kGroupSize) - lowered_);
  }

  void row(std::int64_t e, std::int64_t o, std::span<std::uint8_t> codes,
           std::span<std::uint16_t> scales) const override {
    const Key key = base_.root(kCodeStream)(e)(o);
    for (std::size_t n = 0; n < scales.size(); ++n) {
      const auto g = static_cast<std::int64_t>(n);
      zero_codes(key(g), base_.int4, codes.subspan(n * kGroupSize, kGroupSize));
      const int byte = scales_.base(g) + row_shift(o);
      scales[n] =
          base_.int4 ? pure_scale(base_.root(kScaleStream)(e)(o)(g), byte) : static_cast<std::uint16_t>(byte);
    }
    const Key one = key(-1);
    const auto place = static_cast<std::size_t>(dyadic_group(one) * kGroupSize + one.bits(16, 5));
    if (place < codes.size()) codes[place] = code(1, one.bits(24, 1) != 0);
    if (rows_) codes[static_cast<std::size_t>(body_column())] = code(2, false);
    codes[static_cast<std::size_t>(odd_column_)] = code(one.bits(25, 1) != 0 ? 3 : 1, one.bits(26, 1) != 0);
  }

  void mixture(std::int64_t t, std::span<ExactValue> p) const override {
    const Key key = base_.root(kMixtureStream)(t);
    for (std::size_t n = 0; n < p.size(); ++n) {
      const auto j = static_cast<std::int64_t>(n);
      const std::int64_t units = j == 0 ? 1 : active_slot(key, j) ? 2 : 0;
      p[n] = number(key(j).bits(0, 1) != 0, units, p_exponent_);
    }
  }

  ExactValue shared(std::int64_t t, std::int64_t o) const override {
    const Key key = base_.root(kSharedStream)(t)(o);
    const std::int64_t margin = dropped_ == 0 ? 33 : 1;  // keeps the output in the binade of shared
    const std::int64_t half = std::int64_t{1} << (shared_bits_ - 1);
    const std::int64_t m = half + margin + key(0).pick(half - 2 * margin);
    return number(
        key.bits(0, 1) != 0, m,
        dropped_ + 1 + base_.unit_exponent(scales_.target() + row_shift(o)) + p_exponent_ - lowered_);
  }

 private:
  std::int64_t body_column() const { return (odd_column_ + 16) % kGroupSize; }
  std::uint8_t code(int units, bool negative) const {
    return base_.int4 ? int4_code_of(units, negative) : code_of(units, negative);
  }
  int row_shift(std::int64_t o) const {
    return static_cast<int>(base_.root(kRowStream)(o).pick(max_row_shift_ + 1));
  }

  FillBase base_;
  MatchedScales scales_;
  int max_row_shift_;
  std::int64_t odd_column_;
  int p_exponent_;
  int shared_bits_;  // significand bits that shared can show of the output's
  int dropped_;      // and how many it can't
  bool rows_;        // there is no shared output: a column of group 0 takes its part (DATA-43)
  int lowered_;      // an F16 shared output below a wider one stays in the range of F16
};

}  // namespace

std::unique_ptr<FillData> make_ties_fill(const Case& c) { return std::make_unique<Ties>(c); }

}  // namespace moe4::oracle
