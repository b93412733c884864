#include "reference/bound/dot_bound.h"

#include <algorithm>
#include <cmath>

#include "reference/bound/directed.h"
#include "reference/bound/partial_sums.h"

namespace moe4 {

DotBounder::DotBounder(const FlatPlan& plan, const AccumulationFormat& format, const Arithmetic& arithmetic,
                       Dtype tokens)
    : plan_(plan),
      format_(format),
      method_(Method::kIeee),
      unit_(arithmetic.accumulation.unit),
      rounded_(arithmetic.product_rounded),
      scaled_(arithmetic.dequant == Int4Order::kAccumulatorScale),
      f16_(tokens == Dtype::kF16),
      operations_(8.0 * static_cast<double>(plan.in())) {
  if (arithmetic.accumulation.kind == Accumulation::Kind::kTensorCore) method_ = Method::kTensorCore;
  if (arithmetic.order.kind == Order::Kind::kAny || format.precision > 24) method_ = Method::kAny;
  if (arithmetic.accumulation.kind == Accumulation::Kind::kExact) method_ = Method::kExact;
}

RunSum DotBounder::run(const SumContext& context, std::size_t run) const {
  const auto begin = static_cast<std::size_t>(plan_.run_begin[run]);
  const auto end = static_cast<std::size_t>(plan_.run_begin[run + 1]);
  if (method_ == Method::kTensorCore) return tensor_core_run(context, begin, end, *unit_);
  return ieee_run(context, begin, end, rounded_);
}

RunSum DotBounder::chain(const SumContext& context, std::size_t chain) const {
  const auto first = static_cast<std::size_t>(plan_.chain_begin[chain]);
  const auto last = static_cast<std::size_t>(plan_.chain_begin[chain + 1]);
  if (!scaled_) return run(context, first);
  RunSum sum;
  for (std::size_t r = first; r < last; ++r) {
    const auto group = static_cast<std::size_t>(plan_.run_group[r]);
    join_scaled(sum, context.rows.factor[group], run(context, r), format_, rounded_);
  }
  return sum;
}

DotBounder::Total DotBounder::add_up_chains(const SumContext& context, std::vector<RunSum>& results) const {
  results.resize(plan_.chains());
  for (std::size_t c = 0; c < plan_.chains(); ++c) results[c] = chain(context, c);
  for (const auto& [into, from] : plan_.joins) {
    join(results[static_cast<std::size_t>(into)], results[static_cast<std::size_t>(from)], format_);
  }
  return {results[0], {}};
}

DotBounder::Total DotBounder::add_up_any(const SumContext& context) const {
  Total total;
  for (std::size_t p = 0; p < plan_.in(); ++p) {
    const double x = context.token.x[p];
    const RowPairs& w = context.rows.w[p];
#pragma GCC unroll 4
    for (std::size_t k = 0; k < kPairs; ++k) {
      Pair product = w[k] * x;
      if (scaled_) product *= context.rows.factor[static_cast<std::size_t>(plan_.group[p])][k];
      total.sum.value[k] += product;
      total.magnitudes[k] += magnitude_of(product);
    }
  }
  for (std::size_t k = 0; k < kPairs; ++k) {
    total.sum.slack[k] = total.magnitudes[k] * context.rounding[k];
  }
  return total;
}

double DotBounder::product_of_row(const SumContext& context, std::size_t position, int row) const {
  const double product = context.rows.weight(position, row) * context.token.x[position];
  if (!scaled_) return product;
  return product * lane(context.rows.factor[static_cast<std::size_t>(plan_.group[position])], row);
}

// The largest |P_k| that row's accumulators reach, and the largest rounded product: BND-12, without hurry.
double DotBounder::peak_of_row(const SumContext& context, int row) const {
  double peak = 0;
  std::vector<double> values(plan_.chains());
  for (std::size_t c = 0; c < plan_.chains(); ++c) {
    for (std::size_t r = static_cast<std::size_t>(plan_.chain_begin[c]);
         r < static_cast<std::size_t>(plan_.chain_begin[c + 1]); ++r) {
      double unscaled = 0;
      for (auto p = static_cast<std::size_t>(plan_.run_begin[r]);
           p < static_cast<std::size_t>(plan_.run_begin[r + 1]); ++p) {
        const double product = product_of_row(context, p, row);
        values[c] += product;
        peak = std::max(peak, std::fabs(values[c]));
        if (rounded_) peak = std::max(peak, std::fabs(product));
        if (scaled_) {
          unscaled += context.rows.weight(p, row) * context.token.x[p];
          peak = std::max(peak, std::fabs(unscaled));
        }
      }
    }
  }
  for (const auto& [into, from] : plan_.joins) {
    values[static_cast<std::size_t>(into)] += values[static_cast<std::size_t>(from)];
    peak = std::max(peak, std::fabs(values[static_cast<std::size_t>(into)]));
  }
  for (const std::int32_t slice : plan_.partials) {
    peak = std::max(peak, 1.01 * std::fabs(values[static_cast<std::size_t>(slice)]));
  }
  return round_up(peak, operations_);
}

double DotBounder::terms_of_row(const SumContext& context, int row) const {
  double sum = 0;
  for (std::size_t p = 0; p < plan_.in(); ++p) sum += std::fabs(product_of_row(context, p, row));
  return round_up(sum, operations_);
}

double DotBounder::flushed_of_row(const SumContext& context, int row) const {
  double sum = 0;
  for (std::size_t p = 0; p < plan_.in(); ++p) {
    const double w = context.rows.weight(p, row);
    const double x = context.token.x[p];
    bool may_vanish = std::fabs(x) < 0x1p-125 || std::fabs(w) < 0x1p-123;
    if (scaled_) {
      const auto group = static_cast<std::size_t>(plan_.group[p]);
      may_vanish = may_vanish || std::fabs(lane(context.rows.factor[group], row)) < 0x1p-123;
    }
    if (may_vanish) sum += std::fabs(product_of_row(context, p, row));
  }
  return round_up(sum, operations_);
}

// BND-6 and BND-22.
void DotBounder::bound_any(const SumContext& context, const Total& total, int row, DotBound& b) const {
  const auto in = static_cast<double>(plan_.in());
  const double magnitudes = round_up(lane(total.magnitudes, row), operations_);
  b.terms = std::min(b.terms, magnitudes);
  const double partial =
      round_up(0.5 * (magnitudes + std::min(magnitudes, std::fabs(b.value) + in * 0x1p-52 * magnitudes)), 4);
  double scale = 1.0;  // of what underflows before it is multiplied by a scale
  if (scaled_) {
    for (const RowPairs& factor : context.rows.factor) scale = std::max(scale, std::fabs(lane(factor, row)));
  }
  if (unit_ != nullptr) {
    const double steps = in / unit_->products;
    const double unit = std::ldexp(in, -unit_->fraction_bits) + steps * (0x1p-23 + 0x1p-24) +
                        (scaled_ ? in / kGroupSize * 0x1p-24 : 0.0);
    const double smallest = f16_ ? 0x1p-14 : 0x1p-126;
    const double operand =
        std::max({lane(context.rows.largest, row), context.token.largest_of_all, smallest});
    const double reach = std::max(partial, operand * smallest * scale);
    const double absolute = (steps * (0x1p-146 + format_.underflow) + in * format_.underflow) * scale;
    b.below = round_up((unit * reach + absolute) / (1.0 - unit), 32) + b.slack;
  } else {
    const bool inexact = format_.products_inexact || (scaled_ && rounded_);
    const double more = scaled_ ? in / kGroupSize : 0.0;  // additions of scaled sums
    const double products = (inexact ? format_.unit * magnitudes : 0.0) + in * format_.underflow * scale;
    const double numerator = products + (in + more) * (format_.unit * partial + format_.underflow * scale);
    b.below = round_up(numerator / (1.0 - (in + more) * format_.unit), 16) + b.slack;
  }
  b.above = b.below;
}

// PRO-17, BND-23: each slice to BF16, then added from the last to the first.
void DotBounder::add_partials(const std::vector<RunSum>& results, int row, DotBound& b) const {
  std::vector<Partial> partials;
  for (const std::int32_t slice : plan_.partials) {
    const RunSum& sum = results[static_cast<std::size_t>(slice)];
    const double slack = lane(sum.slack, row);
    if (b.exact) {
      partials.push_back({lane(sum.value, row), slack, slack, slack});
    } else {
      partials.push_back({lane(sum.value, row), slack, lane(sum.below, row), lane(sum.above, row)});
    }
  }
  const PartialSums total = sum_of_partials(partials);
  b.value = total.exact;
  b.slack = total.exact_known ? 0.0 : HUGE_VAL;
  b.below = sum_up(b.value, -total.lo);
  b.above = sum_up(total.hi, -b.value);
  b.overflow = b.overflow || total.overflow;
  b.exact = b.slack == 0 && b.below == 0 && b.above == 0;
  b.magnitude = std::max(std::fabs(total.lo), std::fabs(total.hi));
  b.terms = b.magnitude;
  b.low_bit = lowest_bit(b.value);
}

// BND-20: may a zero or subnormal operand widen the grid of a step so far that a product is cut?
bool DotBounder::cuts_by_zeros(const SumContext& context, int row, int low_bit) const {
  if (unit_ == nullptr) return false;
  if (scaled_) {  // of the products before the scale: codes are integers
    low_bit = *std::min_element(context.token.low_bit.begin(), context.token.low_bit.end());
  }
  const double smallest = f16_ ? 0x1p-14 : 0x1p-126;
  const double operand = std::max({lane(context.rows.largest, row), context.token.largest_of_all, smallest});
  return operand * smallest >= std::ldexp(2.0, low_bit + unit_->fraction_bits);
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

  SumContext context = {format_, rows, token, f16_};
  for (int r = 0; r < kRowBlock; ++r) {
    DotBound& b = bounds[r];
    b.terms = round_up(b.terms, operations_);
    // BND-14: below 53 bits no addition in double rounds.
    // In F64 the exact accumulator says what d is.
    const bool lossless =
        format_.precision > 24 || b.low_bit == kNoBit || b.terms <= std::ldexp(1.0, b.low_bit + 53);
    set_lane(context.rounding, r, lossless ? 0.0 : (2 * static_cast<double>(plan_.in()) + 64) * 0x1p-53);
  }

  thread_local std::vector<RunSum> results;
  const bool whole = method_ == Method::kAny || (method_ == Method::kExact && plan_.partials.empty());
  const Total total = whole ? add_up_any(context) : add_up_chains(context, results);

  for (int r = 0; r < kRowBlock; ++r) {
    DotBound& b = bounds[r];
    if (b.low_bit == kNoBit) {
      b.exact = true;
      continue;
    }
    b.value = lane(total.sum.value, r);
    b.slack = lane(total.sum.slack, r);
    b.below = lane(total.sum.below, r);
    b.above = lane(total.sum.above, r);
    double largest_partial = b.terms;
    if (method_ == Method::kAny) bound_any(context, total, r, b);
    const bool flushes = format_.ftz && unit_ == nullptr;  // ACC-4: a tensor core does not
    if (flushes && (token.tiny || rows.tiny)) {            // BND-8
      const double flushed = flushed_of_row(context, r);
      b.flushed = flushed > 0;
      b.below += 2 * flushed;
      b.above += 2 * flushed;
    }
    const double in_double =
        format_.precision > 24 ? b.terms * static_cast<double>(plan_.in()) * 0x1p-52 : b.slack;
    b.magnitude = round_up(std::min(std::fabs(b.value) + in_double, b.terms), 4);
    if (method_ == Method::kExact) {
      b.exact = true;
      b.below = b.slack;
      b.above = b.slack;
      if (!plan_.partials.empty()) add_partials(results, r, b);
      continue;
    }

    // BND-12. The sum of magnitudes bounds the peak of any tree; the chains' own is looked for only when it
    // matters.
    if (scaled_) largest_partial = std::max(largest_partial, 8.0 * kGroupSize * token.largest_of_all);
    b.overflow = !(largest_partial + b.error() < format_.largest);
    if (b.overflow && method_ != Method::kAny) {
      b.overflow = !(peak_of_row(context, r) + b.error() < format_.largest);
    }

    // BND-10. The sum of magnitudes is taken exactly only where the cheap bound is not hopeless.
    const bool on_grid = b.low_bit >= format_.lowest && !(scaled_ && format_.ftz);
    if (!b.flushed && !b.overflow && on_grid) {
      const double limit = std::ldexp(1.0, b.low_bit + format_.precision);
      if (b.terms > limit && b.terms <= 0x1p10 * limit) b.terms = terms_of_row(context, r);
      b.exact = b.terms <= limit && !cuts_by_zeros(context, r, b.low_bit);
    }
    if (b.exact) {
      b.below = 0;
      b.above = 0;
    }
    if (!plan_.partials.empty()) add_partials(results, r, b);
  }
  return bounds;
}

}  // namespace moe4
