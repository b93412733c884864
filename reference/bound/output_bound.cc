#include "reference/bound/output_bound.h"

#include <algorithm>
#include <cmath>

#include "reference/bound/exact_double.h"

namespace moe4 {

SlotWeight::SlotWeight(const ExactValue& p, Dtype dtype, const AccumulationFormat& format)
    : finite(p.is_finite()), converts(dtype == Dtype::kF64 && format.precision < 53) {
  if (!finite) return;
  magnitude = std::fabs(to_double(p));
  low_bit = lowest_bit(magnitude);
}

void OutputBound::add_slot(const SlotWeight& p, const DotBound& dot, bool operands_finite,
                           const AccumulationFormat& format) {
  ++slots_;
  overflow_ = overflow_ || dot.overflow;
  if (!p.finite) {  // BND-13
    if (operands_finite && dot.error > 0 && dot.value <= 2 * dot.error) unsettled_ = true;
    return;
  }
  const double reach = dot.magnitude + dot.error;
  const double term = p.magnitude * reach;
  dot_errors_ += p.magnitude * dot.error;
  magnitudes_ += term;
  if (p.converts) {
    converts_ = true;
    conversions_ += reach;
    overflow_ = overflow_ || p.magnitude >= format.largest;
    if (p.magnitude != 0 && p.magnitude < 0x1p-126) unsettled_ = true;
  }
  if (format.ftz && p.magnitude < 0x1p-126) dot_errors_ += term;  // BND-8

  // BND-10. A zero p or a dot product of zeros is a term of exactly zero.
  if (p.magnitude == 0 || dot.low_bit == kNoBit) return;
  const bool plain_p = p.magnitude >= 0x1p-126 && p.magnitude < format.largest;
  exact_ = exact_ && dot.exact && (plain_p || (!p.converts && !format.ftz));
  low_bit_ = std::min(low_bit_, p.low_bit + dot.low_bit);
  terms_ += p.magnitude * dot.terms;
}

OutputBound OutputBound::of_row(const DotBound& dot) {
  OutputBound bound;
  bound.row_ = true;
  bound.dot_errors_ = dot.error;
  bound.overflow_ = dot.overflow;
  return bound;
}

OutputBound::Result OutputBound::finish(double s, bool finite_by_rule,
                                        const AccumulationFormat& format) const {
  if (row_) return {dot_errors_, overflow_ || (!finite_by_rule && format.ftz)};  // BND-17, BND-13
  const auto n = static_cast<double>(slots_);
  const double magnitudes = round_up(std::fabs(s) + magnitudes_, 8 * n);
  const double roundings = n + (converts_ ? 3 : 2);
  const double gamma = roundings * format.unit / (1.0 - roundings * format.unit);
  const double underflow = format.underflow * (4 * (n + 1) + conversions_);
  Result result;
  result.error = round_up(dot_errors_ + gamma * magnitudes + underflow, 8 * n + 32);  // BND-9

  result.may_overflow = overflow_ || !(magnitudes + result.error < format.largest);  // BND-12
  if (!finite_by_rule) {                                                             // BND-13
    result.may_overflow = result.may_overflow || unsettled_ || format.ftz;
    return result;
  }

  const int low = std::min(low_bit_, lowest_bit(s));
  const double terms = round_up(std::fabs(s) + terms_, 8 * n);
  const bool tiny_s = format.ftz && s != 0 && std::fabs(s) < 0x1p-126;
  if (low == kNoBit) {
    if (exact_) result.error = 0;
  } else if (exact_ && !result.may_overflow && !tiny_s && low >= format.lowest) {
    if (terms <= std::ldexp(1.0, low + format.precision)) result.error = 0;
  }
  return result;
}

}  // namespace moe4
