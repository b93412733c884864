// late, late_bf16_sum and hf: both ends of an interval through every rounding, which are monotone (BND-25 …
// BND-27).
#include <algorithm>
#include <cmath>

#include "reference/bound/directed.h"
#include "reference/bound/output_bound.h"

namespace moe4 {
namespace {

// A number on its way through the kernel, and the same without the roundings of the accumulation.
struct Track {
  double lo = 0;
  double hi = 0;
  double exact = 0;
  double slack = 0;
};

class Rounder {
 public:
  Rounder(const OutputCall& call) : format_(format_of(call.output)), ftz_(call.format.ftz) {}

  // A of PRO-1: RN to F32, flushed with ftz.
  void accumulate(Track& v) {
    v.lo = flushed(finite(round_double(kF32, v.lo), kF32Largest));
    v.hi = flushed(finite(round_double(kF32, v.hi), kF32Largest));
  }

  // R of PRO-1: RN to the output dtype.
  void round(Track& v) {
    v.lo = finite(round_double(format_, v.lo), largest());
    v.hi = finite(round_double(format_, v.hi), largest());
    const double exact = round_double(format_, v.exact);
    const bool known = v.slack == 0 || (round_double(format_, v.exact - v.slack) == exact &&
                                        round_double(format_, v.exact + v.slack) == exact);
    v.exact = exact;
    v.slack = known ? 0.0 : HUGE_VAL;
    flush_operand(v);
  }

  // With ftz a subnormal operand may count as zero.
  void flush_operand(Track& v) const {
    v.lo = std::min(v.lo, flushed(v.lo));
    v.hi = std::max(v.hi, flushed(v.hi));
  }

  bool overflow() const { return overflow_; }

 private:
  static constexpr double kF32Largest = 0x1.fffffep127;
  double largest() const { return std::ldexp(2.0 - std::ldexp(1.0, -format_.mantissa_bits), format_.bias()); }
  // BND-29: what overflows goes on as the largest number, and any non-finite output is accepted.
  double finite(double v, double largest) {
    if (std::isfinite(v)) return v;
    overflow_ = true;
    return std::copysign(largest, v);
  }
  double flushed(double v) const { return ftz_ && std::fabs(v) < 0x1p-126 ? std::copysign(0.0, v) : v; }

  FloatFormat format_;
  bool ftz_;
  bool overflow_ = false;
};

void add(Track& a, const Track& b) {
  a.lo = sum_down(a.lo, b.lo);
  a.hi = sum_up(a.hi, b.hi);
  const double sum = a.exact + b.exact;
  const bool exact = lost_by_sum(a.exact, b.exact, sum) == 0;
  a.slack += b.slack + (exact ? 0.0 : std::fabs(sum) * 0x1p-52);
  a.exact = sum;
}

Track times(const SlotWeight& p, const Track& d) {
  Track v;
  const bool negative = p.used < 0;
  v.lo = product_down(p.used, negative ? d.hi : d.lo);
  v.hi = product_up(p.used, negative ? d.lo : d.hi);
  v.exact = p.exact * d.exact;
  const bool exact = std::fma(p.exact, d.exact, -v.exact) == 0;
  v.slack = p.magnitude * d.slack + (exact ? 0.0 : std::fabs(v.exact) * 0x1p-52);
  // An F64 p can take the product out of binary64's range.
  const bool in_range =
      p.exact == 0 || d.exact == 0 || (std::fabs(v.exact) > 0x1p-900 && std::fabs(v.exact) < 0x1p1000);
  if (!in_range) v.slack = HUGE_VAL;
  return v;
}

// The dot product as the kernel holds it: a number of F32, so that rounding the ends loses nothing.
Track held(const DotBound& d) {
  return {round_double(kF32, sum_down(d.value, -d.below)), round_double(kF32, sum_up(d.value, d.above)),
          d.value, d.slack};
}

// A sum in F32, in any order, from +0 (BND-25).
Track sum_of(std::span<const Track> terms, const AccumulationFormat& format, bool& overflow) {
  Track sum;
  double magnitudes = 0;
  int low = kNoBit;
  bool settled = true;
  for (const Track& term : terms) {
    add(sum, term);
    magnitudes += std::max(std::fabs(term.lo), std::fabs(term.hi));
    low = std::min(low, lowest_bit(term.lo));
    settled = settled && term.lo == term.hi;
  }
  const auto n = static_cast<double>(terms.size());
  magnitudes = round_up(magnitudes, 2 * n);
  overflow = overflow || !(magnitudes * (1 + n * 2 * format.unit) < format.largest);  // BND-12
  const bool fits =
      low == kNoBit || (low >= format.lowest && magnitudes <= std::ldexp(1.0, low + format.precision));
  if (settled && fits) return sum;  // BND-10
  const double gamma = (n - 1) * format.unit / (1.0 - (n - 1) * format.unit);
  const double error = round_up(gamma * magnitudes + (format.ftz ? n * 0x1p-126 : 0.0), 16);
  sum.lo = sum_down(sum.lo, -error);
  sum.hi = sum_up(sum.hi, error);
  return sum;
}

}  // namespace

LastSum sum_by_profile(const OutputCall& call, std::span<const SlotBound> slots, double s) {
  Rounder rounder(call);
  bool overflow = false;
  thread_local std::vector<Track> terms;
  terms.clear();
  for (const auto& [p, dot, finite] : slots) {
    overflow = overflow || dot.overflow;
    if (!p.finite) continue;
    overflow = overflow || !std::isfinite(p.used);
    Track v = held(dot);
    rounder.flush_operand(v);
    if (call.profile == RoundingProfile::kHf) {
      rounder.round(v);
      v = times(p, v);
      rounder.accumulate(v);
    } else {
      v = times(p, v);
      rounder.accumulate(v);
      rounder.round(v);
    }
    terms.push_back(v);
  }

  Track r;
  if (call.profile == RoundingProfile::kLateBf16Sum) {
    for (const Track& v : terms) {  // BND-26
      add(r, v);
      rounder.accumulate(r);
      rounder.round(r);
    }
  } else {
    r = sum_of(terms, call.format, overflow);
    rounder.round(r);
  }

  Track shared;
  shared.lo = shared.hi = s;
  rounder.accumulate(shared);  // PRO-2: only F64 rounds, only ftz flushes
  shared.exact = s;
  add(r, shared);
  rounder.accumulate(r);

  LastSum y = {r.lo, r.hi, r.exact, r.slack};
  y.below = std::max(0.0, y.exact - y.lo);
  y.above = std::max(0.0, y.hi - y.exact);
  y.may_overflow = overflow || rounder.overflow();
  return y;
}

}  // namespace moe4
