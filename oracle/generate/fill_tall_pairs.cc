// fill=tall_pairs (DATA-49): each token holds one pair +M, -M among terms of about 0.4 ulp(M), all of one
// sign. An order that carries M along loses every term that it meets on the way; one that cancels the pair at
// once loses none. So a kernel that adds in another order than it declares is told from one that does not.
#include <algorithm>
#include <bit>
#include <utility>

#include "oracle/generate/fill_data.h"
#include "oracle/generate/int4_scale.h"
#include "oracle/generate/matched_scales.h"

namespace moe4::oracle {
namespace {

class TallPairs final : public FillData {
 public:
  explicit TallPairs(const Case& c)
      : base_(c),
        scales_(tall_scales(base_)),
        levels_(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(c.in))) - 1),
        carried_bits_(c.dtype == Dtype::kF64 ? 52 : 23) {}

  ExactValue token(std::int64_t t, std::int64_t i) const override {
    const int exponent = scales_.token_exponent(i / kGroupSize);
    const auto [plus, minus] = pair_of(t);
    if (i == plus || i == minus) return number(i == minus, 3, exponent + carried_bits_ - 1);
    return number(false, 24 + base_.root(kTokenStream)(t).pick(4), exponent - 6);
  }

  void row(std::int64_t /*e*/, std::int64_t o, std::span<std::uint8_t> codes,
           std::span<std::uint16_t> scales) const override {
    const Key key = base_.root(kRowStream)(o);
    const bool negative = key.bits(0, 1) != 0;
    const std::int64_t shift = key(0).pick(scales_.spread() + 1);
    std::fill(codes.begin(), codes.end(), one(negative));
    for (std::size_t g = 0; g < scales.size(); ++g) {
      const std::int64_t byte = scales_.base(static_cast<std::int64_t>(g)) + shift;
      scales[g] = base_.int4 ? bf16_scale(false, byte, 0) : static_cast<std::uint16_t>(byte);
    }
  }

  void mixture(std::int64_t /*t*/, std::span<ExactValue> p) const override {
    std::fill(p.begin(), p.end(), number(false, base_.poison ? 2 : 1, 0));
  }

  ExactValue shared(std::int64_t t, std::int64_t o) const override {
    return number(base_.root(kSharedStream)(t)(o).bits(0, 1) != 0, 0, 0);
  }

 private:
  // The code of 1 or -1 (INT4: DATA-50).
  std::uint8_t one(bool negative) const {
    if (base_.int4) return negative ? 7 : 9;
    return negative ? 10 : 2;
  }

  // Where +M and -M stand: ends of blocks far apart, neighbours across the end of a block of 2^x, or one step
  // of a lane that takes 2^x columns of every 2^(x+y).
  std::pair<std::int64_t, std::int64_t> pair_of(std::int64_t t) const {
    const Key key = base_.root(kPlantStream)(t);
    const std::int64_t in = base_.line.in;
    const std::int64_t kind = key.bits(0, 2);
    const std::int64_t x = key(1).pick(kind < 2 ? levels_ : std::min(levels_, 7));
    const std::int64_t block = std::int64_t{1} << x;
    if (kind == 0) {
      const std::int64_t ends = std::max<std::int64_t>(in / block / 4, 1);
      const std::int64_t plus = block * (1 + key(2).pick(ends)) - 1;
      const std::int64_t minus = in - 1 - block * key(3).pick(ends);
      return plus < minus ? std::pair{plus, minus} : std::pair{std::int64_t{0}, in - 1};
    }
    const std::int64_t y = kind == 1 ? 0 : key(2).pick(std::min<std::int64_t>(levels_ - x, 6));
    const std::int64_t lanes = std::int64_t{1} << y;
    const std::int64_t place = 1 + key(3).pick((in - 1) / block - lanes + 1);
    return {block * place - 1, block * (place + lanes - 1)};
  }

  FillBase base_;
  MatchedScales scales_;
  int levels_;        // floor(log2 I)
  int carried_bits_;  // M is 1.5 · 2^this times a term's power of two: one ulp of it is that power
};

}  // namespace

std::unique_ptr<FillData> make_tall_pairs_fill(const Case& c) { return std::make_unique<TallPairs>(c); }

}  // namespace moe4::oracle
