#include "reference/bound/dot_bound.h"

#include <algorithm>
#include <cmath>

namespace moe4 {
namespace {

using Mask = long long __attribute__((vector_size(16)));

// |v|, lane by lane.
inline Pair magnitude_of(const Pair& v) {
  const Mask keep = {0x7fffffffffffffffLL, 0x7fffffffffffffffLL};
  return reinterpret_cast<Pair>(reinterpret_cast<Mask>(v) & keep);
}

double lane(const RowPairs& v, int row) { return v[static_cast<std::size_t>(row / 2)][row % 2]; }

}  // namespace

struct DotBounder::Sums {
  RowPairs value{};       // the sum, in double
  RowPairs error{};       // E of BND-4, BND-5
  RowPairs magnitudes{};  // the sum of magnitudes (BND-6)
};

DotBounder::DotBounder(const FlatPlan& plan, const AccumulationFormat& format, const Arithmetic& arithmetic)
    : plan_(plan),
      format_(format),
      any_(arithmetic.order.kind == Order::Kind::kAny || format.precision > 24),
      rounded_(arithmetic.product_rounded),
      unit_(format.unit * (1.0 + 0x1p-26)),
      product_unit_(format.products_inexact ? unit_ : 0.0),
      operations_(8.0 * static_cast<double>(plan.index.size())) {}

// BND-4, BND-5, and BND-7 if kRounded. The recurrence of a chain is serial, so eight rows go side by side.
template <bool kRounded>
void DotBounder::add_up_chains(const RowBlock& rows, const TokenOperand& token, Sums& sums) const {
  const double growth = 1.0 + unit_;
  const double unit = unit_;
  const double product_unit = product_unit_;
  const double alpha = format_.underflow;
  const std::size_t chains = plan_.begin.size() - 1;
  std::vector<RowPairs> values(chains);
  std::vector<RowPairs> errors(chains);
  for (std::size_t c = 0; c < chains; ++c) {
    RowPairs value{};
    RowPairs error{};
    for (auto p = static_cast<std::size_t>(plan_.begin[c]); p < static_cast<std::size_t>(plan_.begin[c + 1]);
         ++p) {
      const double x = token.x[p];
      const RowPairs& w = rows.w[p];
#pragma GCC unroll 4
      for (std::size_t k = 0; k < kPairs; ++k) {
        const Pair product = w[k] * x;
        if constexpr (kRounded) error[k] += magnitude_of(product) * product_unit + alpha;
        value[k] += product;
        error[k] = error[k] * growth + (magnitude_of(value[k]) * unit + alpha);
      }
    }
    values[c] = value;
    errors[c] = error;
  }
  for (const auto& [into, from] : plan_.joins) {
    RowPairs& value = values[static_cast<std::size_t>(into)];
    RowPairs& error = errors[static_cast<std::size_t>(into)];
    for (std::size_t k = 0; k < kPairs; ++k) {
      value[k] += values[static_cast<std::size_t>(from)][k];
      const Pair both = error[k] + errors[static_cast<std::size_t>(from)][k];
      error[k] = both * growth + (magnitude_of(value[k]) * unit + alpha);
    }
  }
  sums.value = values[0];
  sums.error = errors[0];
}

void DotBounder::add_up_any(const RowBlock& rows, const TokenOperand& token, Sums& sums) const {
  RowPairs value{};
  RowPairs magnitudes{};
  for (std::size_t p = 0; p < token.x.size(); ++p) {
    const double x = token.x[p];
#pragma GCC unroll 4
    for (std::size_t k = 0; k < kPairs; ++k) {
      const Pair product = rows.w[p][k] * x;
      value[k] += product;
      magnitudes[k] += magnitude_of(product);
    }
  }
  sums.value = value;
  sums.magnitudes = magnitudes;
}

// The largest |P_k| + E_k that row's accumulators reach, and the largest rounded product: BND-12, without
// hurry.
double DotBounder::peak_of_row(const RowBlock& rows, const TokenOperand& token, int row,
                               const DotBound& bound) const {
  double peak = 0;
  std::vector<double> values(plan_.begin.size() - 1);
  for (std::size_t c = 0; c + 1 < plan_.begin.size(); ++c) {
    for (auto p = static_cast<std::size_t>(plan_.begin[c]); p < static_cast<std::size_t>(plan_.begin[c + 1]);
         ++p) {
      const double product = rows.weight(p, row) * token.x[p];
      values[c] += product;
      peak = std::max(peak, std::fabs(values[c]));
      if (rounded_) peak = std::max(peak, std::fabs(product));
    }
  }
  for (const auto& [into, from] : plan_.joins) {
    values[static_cast<std::size_t>(into)] += values[static_cast<std::size_t>(from)];
    peak = std::max(peak, std::fabs(values[static_cast<std::size_t>(into)]));
  }
  return round_up(peak, operations_) + bound.error;
}

double DotBounder::terms_of_row(const RowBlock& rows, const TokenOperand& token, int row) const {
  double sum = 0;
  for (std::size_t p = 0; p < token.x.size(); ++p) sum += std::fabs(rows.weight(p, row) * token.x[p]);
  return round_up(sum, operations_);
}

double DotBounder::flushed_of_row(const RowBlock& rows, const TokenOperand& token, int row) const {
  double sum = 0;
  for (std::size_t p = 0; p < token.x.size(); ++p) {
    const double w = rows.weight(p, row);
    const double x = token.x[p];
    if (std::fabs(x) < 0x1p-125 || std::fabs(w) < 0x1p-123) sum += std::fabs(w * x);
  }
  return round_up(sum, operations_);
}

std::array<DotBound, kRowBlock> DotBounder::operator()(const RowBlock& rows,
                                                       const TokenOperand& token) const {
  std::array<DotBound, kRowBlock> bounds;
  for (std::size_t g = 0; g < token.largest.size(); ++g) {
    if (token.low_bit[g] == kNoBit) continue;
    for (int r = 0; r < kRowBlock; ++r) {
      if (rows.low_bit[g][r] == kNoBit) continue;
      bounds[r].low_bit = std::min(bounds[r].low_bit, token.low_bit[g] + rows.low_bit[g][r]);
      bounds[r].terms += token.largest[g] * rows.magnitude[g][r];
    }
  }

  Sums sums;
  if (any_) {
    add_up_any(rows, token, sums);
  } else if (rounded_) {
    add_up_chains<true>(rows, token, sums);
  } else {
    add_up_chains<false>(rows, token, sums);
  }

  const auto in = static_cast<double>(token.x.size());
  for (int r = 0; r < kRowBlock; ++r) {
    DotBound& b = bounds[r];
    if (b.low_bit == kNoBit) {
      b.exact = true;
      continue;
    }
    b.terms = round_up(b.terms, operations_);
    b.value = std::fabs(lane(sums.value, r));
    double largest_partial = b.terms;
    if (any_) {  // BND-6
      const double magnitudes = round_up(lane(sums.magnitudes, r), operations_);
      b.terms = std::min(b.terms, magnitudes);
      b.magnitude = std::min(magnitudes, b.value + in * (magnitudes * 0x1p-52 + format_.underflow));
      largest_partial = round_up(0.5 * (magnitudes + b.magnitude), 4);
      const double products = (format_.products_inexact ? unit_ * magnitudes : 0.0) + in * format_.underflow;
      const double numerator = products + in * unit_ * largest_partial + in * format_.underflow;
      b.error = round_up(numerator / (1.0 - in * unit_), 16);
    } else {
      b.error = round_up(lane(sums.error, r), operations_);
      b.magnitude = round_up(b.value + b.error * 0x1p-26, 4);
    }
    if (format_.ftz && (token.tiny || rows.tiny)) {  // BND-8
      const double flushed = flushed_of_row(rows, token, r);
      b.flushed = flushed > 0;
      b.error += 2 * flushed;
    }
    // BND-12. The peak of any tree is largest_partial; the chains' own peak is looked for only when it
    // matters.
    b.overflow = !(largest_partial + b.error < format_.largest);
    if (b.overflow && !any_) b.overflow = !(peak_of_row(rows, token, r, b) < format_.largest);

    // BND-10. The sum of magnitudes is taken exactly only where the cheap bound is not hopeless.
    if (b.flushed || b.overflow || b.low_bit < format_.lowest) continue;
    const double limit = std::ldexp(1.0, b.low_bit + format_.precision);
    if (b.terms > limit && b.terms <= 0x1p10 * limit) b.terms = terms_of_row(rows, token, r);
    b.exact = b.terms <= limit;
    if (b.exact) b.error = 0;
  }
  return bounds;
}

}  // namespace moe4
