// DATA-33: the proof that every intermediate of an exact fill is exact, from the data itself.
//
// All sums are of magnitudes, in double. Each is a sum of multiples of one power of two (its unit), so it is
// exact while it stays below 2^53 units; and a sum of non-negative doubles never shrinks, so one that has
// left that range is far above the limit and is refused all the same.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "oracle/case/output_rows.h"
#include "oracle/generate/code_magnitudes.h"
#include "oracle/generate/exact_range.h"
#include "oracle/generate/generate.h"
#include "oracle/generate/layer_proof.h"
#include "oracle/generate/store.h"
#include "reference/formats/float_format.h"

namespace moe4::oracle {
namespace {

bool magnitude_at(const Tensor& tensor, std::int64_t index, Magnitude& to) {
  return magnitude_of(decode_float(format_of(tensor.dtype()), load_float_bits(tensor, index)), to);
}

// A sum of magnitudes with its unit.
struct Sum {
  double value = 0;
  int unit = kNoBits;
  void add(const Magnitude& term) {
    value += term.value;
    unit = std::min(unit, term.lowest);
  }
};

struct Activations {
  std::vector<double> values;
  std::vector<int> lowest;
};

class Prover {
 public:
  Prover(const CaseData& data, int bits)
      : data_(data), shape_(output_shape(data)), in_(in_of(data)), range_(data, bits) {
    if (data.op != Op::kCombine) weights_.emplace(data);
  }

  // The largest sum over the outputs of a row in units, or Inf if some term or sum can't be exact.
  double row(const OutputRow& row) const {
    Activations x;
    if (!read_activations(row, x)) return HUGE_VAL;
    double worst = 0;
    for (std::int64_t o = 0; o < shape_.out; ++o) worst = std::max(worst, output(row, x, o));
    return worst;
  }

 private:
  bool has_shared() const { return !is_row_op(data_.op); }

  bool read_activations(const OutputRow& row, Activations& x) const {
    x.values.resize(static_cast<std::size_t>(in_));
    x.lowest.resize(static_cast<std::size_t>(in_));
    for (std::int64_t i = 0; i < in_; ++i) {
      Magnitude m;
      if (!magnitude_at(data_.latent_tokens, row.source * in_ + i, m)) return false;
      x.values[static_cast<std::size_t>(i)] = m.value;
      x.lowest[static_cast<std::size_t>(i)] = m.lowest;
    }
    return true;
  }

  double output(const OutputRow& row, const Activations& x, std::int64_t o) const {
    Sum total;
    if (has_shared()) {
      Magnitude s;
      if (!magnitude_at(data_.shared_output, row.row * shape_.out + o, s)) return HUGE_VAL;
      total.add(s);
    }
    for (const Slot& slot : row.slots) {
      Magnitude p;
      Sum dot;
      if (!magnitude_of(slot.p, p) || !add_dot(row, slot, x, o, dot) || !in_range(dot)) return HUGE_VAL;
      if (p.lowest != kNoBits && dot.unit != kNoBits) {
        total.add({p.value * dot.value, p.lowest + dot.unit});
      }
    }
    if (!in_range(total)) return HUGE_VAL;
    return total.unit == kNoBits ? 0 : std::ldexp(total.value, -total.unit);
  }

  bool in_range(const Sum& sum) const { return range_.holds(sum.value, sum.unit); }

  bool add_dot(const OutputRow& row, const Slot& slot, const Activations& x, std::int64_t o, Sum& dot) const {
    if (data_.op != Op::kCombine) return add_products(slot.expert * shape_.out + o, x, dot);
    Magnitude r;
    const std::int64_t top_k = data_.mixture_weights.dim(1);
    if (!magnitude_at(data_.rows, (row.row * top_k + slot.j) * shape_.out + o, r)) return false;
    dot.add(r);
    return true;
  }

  // Σ|w·x| of row e·O + o.
  bool add_products(std::int64_t row, const Activations& x, Sum& dot) const {
    GroupMagnitudes weights;
    std::array<std::uint8_t, 32> codes;
    for (std::int64_t g = 0; g < in_ / 32; ++g) {
      if (!weights_->group(row, g, weights)) return false;
      weights_->codes(row, g, codes);
      const double* values = x.values.data() + g * 32;
      const int* lowest = x.lowest.data() + g * 32;
      double sum = 0;
      int unit = kNoBits;
      for (std::size_t k = 0; k < 32; ++k) {
        const Magnitude& w = weights.of_code[codes[k]];
        sum += w.value * values[k];
        unit = std::min(unit, w.lowest + lowest[k]);
      }
      if (unit < kNoBits) dot.add({sum, unit});
    }
    return true;
  }

  const CaseData& data_;
  OutputShape shape_;
  std::int64_t in_;
  std::optional<CodeMagnitudes> weights_;
  ExactRange range_;
};

// Is 2^8 met, or 2^24 missed? A truncating accumulator of 24 bits is exact below it.
bool within(double units, const ExactProof& proof) {
  return proof.limit_units <= 256 ? units <= proof.limit_units : units < proof.limit_units;
}

}  // namespace

ExactProof prove_exact(const CaseData& data, int bits) {
  ExactProof proof;
  proof.limit_units = std::ldexp(1.0, bits);
  const Prover prover(data, bits);
  const std::vector<OutputRow> rows = output_rows(data);
  double dots = 0;
  for (const OutputRow& row : rows) dots += static_cast<double>(row.slots.size());
  const double terms = dots * static_cast<double>(output_shape(data).out) * static_cast<double>(in_of(data));
  constexpr double kWorthThreads = 1 << 17, kLayer = 1 << 28;
  std::vector<double> units;
  if (terms >= kLayer) units = layer_units(data, rows, bits);
  if (units.empty()) units.assign(rows.size(), HUGE_VAL);
#pragma omp parallel for schedule(dynamic) if (terms > kWorthThreads)
  for (std::size_t n = 0; n < rows.size(); ++n) {
    if (!within(units[n], proof)) units[n] = prover.row(rows[n]);
  }
  for (const double u : units) proof.largest_units = std::max(proof.largest_units, u);
  proof.proved = within(proof.largest_units, proof);
  return proof;
}

}  // namespace moe4::oracle
