#include "oracle/generate/layer_proof.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "oracle/generate/code_magnitudes.h"
#include "oracle/generate/exact_range.h"
#include "oracle/generate/store.h"
#include "reference/formats/float_format.h"

namespace moe4::oracle {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Units = std::vector<std::int16_t>;  // log2 of the lowest bit, of each group

constexpr std::int64_t kBlock = 64;  // rows of weights decoded at a time
constexpr float kNotBounded = HUGE_VALF;

// Magnitudes of the tokens of a case.
struct Tokens {
  Matrix x;
  Units lowest;                   // [rows, G]
  std::vector<std::uint8_t> bad;  // a row with a NaN, an infinity, or a number beyond what FP32 holds
};

std::int16_t lowest_of(int bit) { return static_cast<std::int16_t>(bit); }

Tokens read_tokens(const CaseData& data) {
  const std::int64_t in = in_of(data);
  const std::int64_t groups = in / kGroupSize;
  const std::int64_t rows = data.latent_tokens.elements() / std::max<std::int64_t>(in, 1);
  const FloatFormat format = format_of(data.latent_tokens.dtype());
  Tokens tokens{Matrix(rows, in), Units(static_cast<std::size_t>(rows * groups), lowest_of(kNoBits)),
                std::vector<std::uint8_t>(static_cast<std::size_t>(rows), 0)};
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < in; ++i) {
      Magnitude m;
      const ExactValue value = decode_float(format, load_float_bits(data.latent_tokens, row * in + i));
      if (!magnitude_of(value, m)) tokens.bad[static_cast<std::size_t>(row)] = 1;
      tokens.x(row, i) = static_cast<float>(m.value);
      std::int16_t& lowest = tokens.lowest[static_cast<std::size_t>(row * groups + i / kGroupSize)];
      lowest = std::min(lowest, lowest_of(m.lowest));
    }
  }
  return tokens;
}

// Rows first … of one expert's weights.
struct WeightBlock {
  Matrix w;
  Units lowest;  // [rows, G]
};

bool read_weights(const CodeMagnitudes& magnitudes, std::int64_t first, std::int64_t rows, std::int64_t in,
                  WeightBlock& block) {
  const std::int64_t groups = in / kGroupSize;
  block.w.resize(rows, in);
  block.lowest.assign(static_cast<std::size_t>(rows * groups), lowest_of(kNoBits));
  GroupMagnitudes weights;
  std::array<std::uint8_t, 32> codes;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t g = 0; g < groups; ++g) {
      if (!magnitudes.group(first + r, g, weights)) return false;
      magnitudes.codes(first + r, g, codes);
      float* to = block.w.data() + r * in + g * kGroupSize;
      unsigned seen = 0;
      std::array<float, 16> values;
      for (std::size_t c = 0; c < 16; ++c) values[c] = static_cast<float>(weights.of_code[c].value);
      for (std::size_t l = 0; l < 32; ++l) {
        to[l] = values[codes[l]];
        seen |= 1U << codes[l];
      }
      int lowest = kNoBits;
      for (std::size_t c = 0; c < 16; ++c) {
        if ((seen >> c & 1) != 0) lowest = std::min(lowest, weights.of_code[c].lowest);
      }
      block.lowest[static_cast<std::size_t>(r * groups + g)] = lowest_of(lowest);
    }
  }
  return true;
}

// A slot of a row that selects the expert.
struct Use {
  std::size_t row;
  const Slot* slot;
};

// min over g of a[g] + b[g].
int least_sum(const std::int16_t* a, const std::int16_t* b, std::int64_t groups) {
  std::int16_t least = 2 * kNoBits;
  for (std::int64_t g = 0; g < groups; ++g) least = std::min(least, static_cast<std::int16_t>(a[g] + b[g]));
  return least;
}

class LayerProof {
 public:
  LayerProof(const CaseData& data, const std::vector<OutputRow>& rows, int bits)
      : data_(data),
        rows_(rows),
        range_(data, bits),
        magnitudes_(data),
        tokens_(read_tokens(data)),
        in_(in_of(data)),
        out_(output_shape(data).out) {
    for (std::size_t n = 0; n < rows.size(); ++n) {
      for (const Slot& slot : rows[n].slots) uses_[slot.expert].push_back({n, &slot});
    }
  }

  std::vector<double> units() const {
    std::vector<double> worst(rows_.size(), 0);
    std::mutex mutex;
#pragma omp parallel for schedule(dynamic)
    for (std::int64_t first = 0; first < out_; first += kBlock) {
      const std::vector<double> own = block_units(first, std::min(kBlock, out_ - first));
      const std::lock_guard lock(mutex);
      for (std::size_t n = 0; n < worst.size(); ++n) worst[n] = std::max(worst[n], own[n]);
    }
    return worst;
  }

 private:
  struct Total {
    double value = 0;
    int unit = kNoBits;
  };

  // Outputs first … first + columns - 1 of every row.
  std::vector<double> block_units(std::int64_t first, std::int64_t columns) const {
    std::vector<Total> totals(rows_.size() * static_cast<std::size_t>(columns));
    const auto total = [&](std::size_t row, std::int64_t o) -> Total& {
      return totals[row * static_cast<std::size_t>(columns) + static_cast<std::size_t>(o)];
    };
    WeightBlock weights;
    Matrix x, sums;
    for (const auto& [expert, uses] : uses_) {
      const bool finite = read_weights(magnitudes_, expert * out_ + first, columns, in_, weights);
      if (finite) {
        x.resize(static_cast<Eigen::Index>(uses.size()), in_);
        for (std::size_t k = 0; k < uses.size(); ++k) {
          x.row(static_cast<Eigen::Index>(k)) = tokens_.x.row(rows_[uses[k].row].source);
        }
        sums.noalias() = x * weights.w.transpose();
      }
      for (std::size_t k = 0; k < uses.size(); ++k) {
        for (std::int64_t o = 0; o < columns; ++o) {
          const float sum = finite ? sums(static_cast<Eigen::Index>(k), o) : kNotBounded;
          add(uses[k], weights, o, sum, total(uses[k].row, o));
        }
      }
    }
    std::vector<double> worst(rows_.size(), 0);
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      for (std::int64_t o = 0; o < columns; ++o) {
        worst[row] = std::max(worst[row], finish(row, first + o, total(row, o)));
      }
    }
    return worst;
  }

  // One slot of one output, whose Σ|w·x| came out as `sum`.
  void add(const Use& use, const WeightBlock& weights, std::int64_t o, float sum, Total& total) const {
    const std::int64_t groups = in_ / kGroupSize;
    const std::int64_t source = rows_[use.row].source;
    const int unit =
        least_sum(weights.lowest.data() + o * groups, tokens_.lowest.data() + source * groups, groups);
    Magnitude p;
    const bool known = sum < kNotBounded && tokens_.bad[static_cast<std::size_t>(source)] == 0 &&
                       magnitude_of(use.slot->p, p);
    if (known && unit >= kNoBits - 512) return;  // every product is zero
    if (!known || !range_.holds(sum, unit) || !(sum < std::ldexp(1.0F, std::min(unit + 24, 127)))) {
      total.value = HUGE_VAL;
      return;
    }
    if (p.lowest == kNoBits) return;
    total.value += p.value * static_cast<double>(sum);
    total.unit = std::min(total.unit, p.lowest + unit);
  }

  double finish(std::size_t row, std::int64_t o, Total total) const {
    if (!is_row_op(data_.op)) {
      const FloatFormat format = format_of(data_.shared_output.dtype());
      Magnitude s;
      const std::uint64_t bits = load_float_bits(data_.shared_output, rows_[row].row * out_ + o);
      if (!magnitude_of(decode_float(format, bits), s)) return HUGE_VAL;
      total.value += s.value;
      total.unit = std::min(total.unit, s.lowest);
    }
    if (!(total.value < HUGE_VAL)) return HUGE_VAL;
    if (total.unit == kNoBits) return 0;
    return range_.holds(total.value, total.unit) ? std::ldexp(total.value, -total.unit) : HUGE_VAL;
  }

  const CaseData& data_;
  const std::vector<OutputRow>& rows_;
  ExactRange range_;
  CodeMagnitudes magnitudes_;
  Tokens tokens_;
  std::int64_t in_, out_;
  std::map<std::int64_t, std::vector<Use>> uses_;
};

}  // namespace

std::vector<double> layer_units(const CaseData& data, const std::vector<OutputRow>& rows, int bits) {
  constexpr std::int64_t kMostTokens = std::int64_t{1} << 28;  // elements, kept as FP32
  if (data.op == Op::kCombine || data.latent_tokens.dtype() == Dtype::kF64) return {};
  if (data.latent_tokens.elements() > kMostTokens) return {};
  return LayerProof(data, rows, bits).units();
}

}  // namespace moe4::oracle
