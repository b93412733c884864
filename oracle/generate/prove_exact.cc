// DATA-33: the proof that every intermediate of an exact fill is exact, from the data itself.
//
// All sums are of magnitudes, in double. Each is a sum of multiples of one power of two (its unit), so it is
// exact while it stays below 2^53 units; and a sum of non-negative doubles never shrinks, so one that has
// left that range is far above the limit and is refused all the same.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "oracle/generate/generate.h"
#include "oracle/generate/store.h"
#include "reference/formats/e2m1.h"
#include "reference/formats/float_format.h"

namespace moe4::oracle {
namespace {

constexpr int kNoBits = 4096;  // the lowest bit of zero: above every other

// |value| and the exponent of its lowest set bit.
struct Magnitude {
  double value = 0;
  int lowest = kNoBits;
};

// False for NaN, Inf and what double's own range could not multiply exactly.
bool magnitude_of(const Tensor& tensor, std::int64_t index, Magnitude& to) {
  const ExactValue value = decode_float(format_of(tensor.dtype()), load_float_bits(tensor, index));
  if (!value.is_finite()) return false;
  if (value.is_zero()) {
    to = {};
    return true;
  }
  const int zeros = std::countr_zero(value.significand);
  to.lowest = value.exponent + zeros;
  to.value = std::ldexp(static_cast<double>(value.significand >> zeros), to.lowest);
  return to.lowest > -300 && to.value < std::ldexp(1.0, 300);
}

// A sum of magnitudes with its unit, and its largest term's unit seen so far.
struct Sum {
  double value = 0;
  int unit = kNoBits;
  void add(double term, int lowest) {
    value += term;
    unit = std::min(unit, lowest);
  }
};

struct CodeTable {
  std::array<double, 16> value{};
  std::array<int, 16> lowest{};
  CodeTable() {
    for (std::size_t code = 0; code < 16; ++code) {
      const unsigned halves = kE2M1Halves[code & 7];
      value[code] = halves;
      lowest[code] = halves == 0 ? kNoBits : std::countr_zero(halves);
    }
  }
};

class Prover {
 public:
  Prover(const CaseData& data, int bits)
      : data_(data),
        groups_(data.scale_bytes.dim(2)),
        in_(data.latent_tokens.dim(1)),
        out_(data.scale_bytes.dim(1)),
        top_k_(data.selected_experts.dim(1)) {
    // Exact partial sums of every profile, also those in the output dtype: no underflow, no overflow. With
    // the limit of 2^8 the output itself must be exact; with 2^24 it is rounded once.
    const bool half = data.latent_tokens.dtype() == Dtype::kF16;
    lowest_unit_ = half && bits == 8 ? kF16.lsb_exponent() : -126;
    largest_value_ = half ? 65504.0 : std::ldexp(1.0, 127);
  }

  // The largest sum over the outputs of token t in units, or Inf if some term or sum can't be exact.
  double token(std::int64_t t) const {
    std::vector<double> values(static_cast<std::size_t>(in_));
    std::vector<int> lowest(static_cast<std::size_t>(in_));
    for (std::int64_t i = 0; i < in_; ++i) {
      Magnitude x;
      if (!magnitude_of(data_.latent_tokens, t * in_ + i, x)) return HUGE_VAL;
      values[static_cast<std::size_t>(i)] = x.value;
      lowest[static_cast<std::size_t>(i)] = x.lowest;
    }
    double worst = 0;
    for (std::int64_t o = 0; o < out_; ++o) {
      Magnitude s;
      if (!magnitude_of(data_.shared_output, t * out_ + o, s)) return HUGE_VAL;
      Sum total;
      total.add(s.value, s.lowest);
      for (std::int64_t j = 0; j < top_k_; ++j) {
        const std::int64_t e = load_id(data_.selected_experts, t * top_k_ + j);
        if (e < 0) continue;  // COR-5
        Magnitude p;
        Sum dot;
        if (!magnitude_of(data_.mixture_weights, t * top_k_ + j, p)) return HUGE_VAL;
        if (!add_row(e * out_ + o, values, lowest, dot) || !in_range(dot)) return HUGE_VAL;
        if (p.lowest != kNoBits && dot.unit != kNoBits) total.add(p.value * dot.value, p.lowest + dot.unit);
      }
      if (!in_range(total)) return HUGE_VAL;
      if (total.unit != kNoBits) worst = std::max(worst, std::ldexp(total.value, -total.unit));
    }
    return worst;
  }

 private:
  bool in_range(const Sum& sum) const {
    return sum.unit == kNoBits || (sum.unit >= lowest_unit_ && sum.value <= largest_value_);
  }

  bool add_row(std::int64_t row, const std::vector<double>& values, const std::vector<int>& lowest,
               Sum& dot) const {
    static const CodeTable kTable;
    const std::uint8_t* bytes = data_.packed_weights.as<std::uint8_t>().data() + row * groups_ * 16;
    const std::uint8_t* scales = data_.scale_bytes.as<std::uint8_t>().data() + row * groups_;
    for (std::int64_t g = 0; g < groups_; ++g) {
      if (scales[g] == 255) return false;
      const double* x = values.data() + g * 32;
      const int* x_lowest = lowest.data() + g * 32;
      double even = 0, odd = 0;
      int unit = kNoBits;
      for (int b = 0; b < 16; ++b) {
        const unsigned low = bytes[g * 16 + b] & 15u;
        const unsigned high = bytes[g * 16 + b] >> 4;
        even += kTable.value[low] * x[2 * b];
        odd += kTable.value[high] * x[2 * b + 1];
        unit = std::min(unit, kTable.lowest[low] + x_lowest[2 * b]);
        unit = std::min(unit, kTable.lowest[high] + x_lowest[2 * b + 1]);
      }
      const int exponent = scales[g] - 128;  // the table is in halves
      if (unit < kNoBits) dot.add(std::ldexp(even + odd, exponent), unit + exponent);
    }
    return true;
  }

  const CaseData& data_;
  std::int64_t groups_, in_, out_, top_k_;
  int lowest_unit_;
  double largest_value_;
};

}  // namespace

ExactProof prove_exact(const CaseData& data, int bits) {
  ExactProof proof;
  proof.limit_units = std::ldexp(1.0, bits);
  const Prover prover(data, bits);
  const std::int64_t tokens = data.latent_tokens.dim(0);
  double largest = 0;
  const std::int64_t terms =
      tokens * data.selected_experts.dim(1) * data.shared_output.dim(1) * data.latent_tokens.dim(1);
  constexpr std::int64_t kWorthThreads = std::int64_t{1} << 17;
#pragma omp parallel for schedule(dynamic) reduction(max : largest) if (terms > kWorthThreads)
  for (std::int64_t t = 0; t < tokens; ++t) largest = std::max(largest, prover.token(t));
  proof.largest_units = largest;
  // 2^8 may be met, 2^24 may not: a truncating accumulator of 24 bits is exact below it.
  proof.proved = bits <= 8 ? largest <= proof.limit_units : largest < proof.limit_units;
  return proof;
}

}  // namespace moe4::oracle
