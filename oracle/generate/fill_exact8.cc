// fill=exact8 (DATA-22, DATA-35): dense tokens, sparse rows; every sum is at most 2^8 units.
#include <algorithm>
#include <bit>

#include "oracle/generate/fill_data.h"
#include "oracle/generate/int4_scale.h"
#include "oracle/generate/matched_scales.h"
#include "oracle/generate/row_atoms.h"

namespace moe4::oracle {
namespace {

class Exact8 final : public FillData {
 public:
  explicit Exact8(const Case& c)
      : base_(c),
        scales_(exact_scales(base_)),
        max_row_shift_(std::min(4, scales_.spread())),
        max_shift_(std::min(3, scales_.spread() - max_row_shift_)),
        p_exponent_(base_.poison ? -3 : -1) {}

  ExactValue token(std::int64_t t, std::int64_t i) const override {
    const Key key = base_.root(kTokenStream)(t)(i);
    return number(key.bits(0, 1) != 0, 1 + key.bits(1, 1), scales_.token_exponent(i / kGroupSize));
  }

  void row(std::int64_t e, std::int64_t o, std::span<std::uint8_t> codes,
           std::span<std::uint16_t> scales) const override {
    const Key code_key = base_.root(kCodeStream)(e)(o);
    const Key scale_key = base_.root(kScaleStream)(e)(o);
    const int bytes = scales_.highest_byte() - scales_.lowest_byte() + 1;
    for (std::size_t g = 0; g < scales.size(); ++g) {
      const auto group = static_cast<std::int64_t>(g);
      zero_codes(code_key(group), base_.int4, codes.subspan(g * kGroupSize, kGroupSize));
      const std::int64_t byte = scales_.lowest_byte() + scale_key(group).pick(bytes);
      scales[g] = base_.int4 ? full_scale(scale_key(group)(1), byte) : static_cast<std::uint16_t>(byte);
    }
    const RowAtoms atoms = row_atoms(code_key, base_.int4);
    for (const Atom& atom : atoms.all()) {
      const auto g = static_cast<std::size_t>(atom.g);
      if (g >= scales.size()) continue;
      const int shift = group_shift(scale_key(atom.g), atoms, atom.g);
      const int byte = scales_.base(atom.g) + row_shift(o) + shift;
      scales[g] = base_.int4 ? pure_scale(scale_key(atom.g)(1), byte) : static_cast<std::uint16_t>(byte);
      codes[g * kGroupSize + static_cast<std::size_t>(atom.l)] =
          base_.int4 ? int4_code_of(atom.units >> shift, atom.negative)
                     : code_of(atom.units >> shift, atom.negative);
    }
  }

  void mixture(std::int64_t t, std::span<ExactValue> p) const override {
    const Key key = base_.root(kMixtureStream)(t);
    for (std::size_t n = 0; n < p.size(); ++n) {
      const auto j = static_cast<std::int64_t>(n);
      const Key draw = key(j);
      const std::int64_t units = active_slot(key, j) ? (j < 2 ? 1 + draw.bits(1, 1) : 1) : 0;
      p[n] = number(draw.bits(0, 1) != 0, units, p_exponent_);
    }
  }

  ExactValue shared(std::int64_t t, std::int64_t o) const override {
    const Key key = base_.root(kSharedStream)(t)(o);
    return number(key.bits(0, 1) != 0, key(0).pick(65),
                  base_.unit_exponent(scales_.target() + row_shift(o)) + p_exponent_);
  }

 private:
  int row_shift(std::int64_t o) const {
    return static_cast<int>(base_.root(kRowStream)(o).pick(max_row_shift_ + 1));
  }

  // The atoms of one group share its scale byte: the shift divides the units of them all.
  int group_shift(Key key, const RowAtoms& atoms, std::int64_t g) const {
    int shift = static_cast<int>(key(0).pick(max_shift_ + 1));
    for (const Atom& atom : atoms.all()) {
      if (atom.g == g) shift = std::min(shift, std::countr_zero(static_cast<unsigned>(atom.units)));
    }
    return shift;
  }

  FillBase base_;
  MatchedScales scales_;
  int max_row_shift_, max_shift_, p_exponent_;
};

}  // namespace

std::unique_ptr<FillData> make_exact8_fill(const Case& c) { return std::make_unique<Exact8>(c); }

}  // namespace moe4::oracle
