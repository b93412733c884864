#include "reference/bound/output_bound.h"

#include <algorithm>
#include <cmath>

#include "reference/bound/directed.h"
#include "reference/bound/exact_double.h"

namespace moe4 {
namespace {

// BND-13, BND-29: does an infinite p leave the kind of the term open? The kernel's d may have either sign, or
// be zero.
bool is_unsettled(const OutputCall& call, const SlotBound& slot) {
  const DotBound& d = slot.dot;
  if (!slot.p.finite) {
    if (!slot.operands_finite || d.exact) return false;
    double lo = sum_down(d.value, -d.below);
    double hi = sum_up(d.value, d.above);
    if (call.profile == RoundingProfile::kHf && call.format.precision == 24) {
      lo = round_double(format_of(call.output), lo);
      hi = round_double(format_of(call.output), hi);
    }
    return lo <= 0 && hi >= 0;
  }
  return slot.p.converts && slot.p.magnitude != 0 && slot.p.magnitude < 0x1p-126;
}

}  // namespace

SlotWeight::SlotWeight(const ExactValue& p, Dtype dtype, const AccumulationFormat& format)
    : finite(p.is_finite()), converts(dtype == Dtype::kF64 && format.precision < 53) {
  if (!finite) return;
  exact = to_double(p);
  magnitude = std::fabs(exact);
  used = converts ? round_double(kF32, exact) : exact;
  if (format.ftz && std::fabs(used) < 0x1p-126) used = std::copysign(0.0, used);
  low_bit = lowest_bit(magnitude);
}

LastSum sum_once(const AccumulationFormat& format, std::span<const SlotBound> slots, double s) {
  LastSum y;
  double below = 0;
  double above = 0;
  double magnitudes = 0;   // B without |s|
  double terms = 0;        // the sum of |p| times the sum of |w x|
  double conversions = 0;  // the sum of D_j + E_j over the p that convert
  double slack = 0;
  int low = lowest_bit(s);
  bool exact = true;
  bool converts = false;
  y.exact = s;
  for (const auto& [p, dot, finite] : slots) {
    y.may_overflow = y.may_overflow || dot.overflow;
    if (!p.finite) continue;
    const double reach = dot.magnitude + dot.error();
    const double term = p.magnitude * reach;
    magnitudes += term;
    below += p.magnitude * (p.exact < 0 ? dot.above : dot.below);
    above += p.magnitude * (p.exact < 0 ? dot.below : dot.above);
    y.exact += p.exact * dot.value;
    slack += p.magnitude * dot.slack;
    if (p.converts) {
      converts = true;
      conversions += reach;
      y.may_overflow = y.may_overflow || p.magnitude >= format.largest;
    }
    if (format.ftz && p.magnitude < 0x1p-126) {  // BND-8
      below += term;
      above += term;
    }
    // BND-10. A zero p or a dot product of zeros is a term of exactly zero.
    if (p.magnitude == 0 || dot.low_bit == kNoBit) continue;
    const bool plain_p = p.magnitude >= 0x1p-126 && p.magnitude < format.largest;
    exact = exact && dot.exact && (plain_p || (!p.converts && !format.ftz));
    low = std::min(low, p.low_bit + dot.low_bit);
    terms += p.magnitude * dot.terms;
  }

  const auto n = static_cast<double>(slots.size());
  magnitudes = round_up(std::fabs(s) + magnitudes, 8 * n);
  terms = round_up(std::fabs(s) + terms, 8 * n);
  const double roundings = n + (converts ? 3 : 2);
  const double gamma = roundings * format.unit / (1.0 - roundings * format.unit);
  const double rounded = gamma * magnitudes + format.underflow * (4 * (n + 1) + conversions);  // BND-9
  const bool lossless = slack == 0 && (low == kNoBit || terms <= std::ldexp(1.0, low + 53));   // BND-14
  y.slack = lossless || format.precision > 24 ? 0 : round_up(slack + (2 * n + 4) * 0x1p-53 * magnitudes, 16);
  y.below = round_up(below + rounded + y.slack, 8 * n + 32);
  y.above = round_up(above + rounded + y.slack, 8 * n + 32);
  y.may_overflow = y.may_overflow || !(magnitudes + std::max(y.below, y.above) < format.largest);  // BND-12

  const bool tiny_s = format.ftz && s != 0 && std::fabs(s) < 0x1p-126;
  const bool fits =
      low == kNoBit || (low >= format.lowest && terms <= std::ldexp(1.0, low + format.precision));
  if (exact && fits && !y.may_overflow && !tiny_s) {
    y.below = 0;
    y.above = 0;
  }
  if (y.exact == 0 && !slots.empty()) y.exact = 0;  // LIN-7
  y.lo = y.below == 0 ? y.exact : sum_down(y.exact, -y.below);
  y.hi = y.above == 0 ? y.exact : sum_up(y.exact, y.above);
  return y;
}

LastSum last_sum(const OutputCall& call, std::span<const SlotBound> slots, double s, bool finite_by_rule) {
  // BND-28: where R is the rounding of the accumulation, and early once its activations are known, all
  // roundings are those of once.
  const bool once = call.profile == RoundingProfile::kOnce || call.profile == RoundingProfile::kEarly ||
                    call.format.precision > 24 || slots.empty();
  LastSum y = once ? sum_once(call.format, slots, s) : sum_by_profile(call, slots, s);
  if (finite_by_rule) return y;
  y.may_overflow = y.may_overflow || call.format.ftz || call.format.scales_sums;  // BND-13
  for (const SlotBound& slot : slots) y.may_overflow = y.may_overflow || is_unsettled(call, slot);
  return y;
}

}  // namespace moe4
