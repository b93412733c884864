#include "reference/bound/run_sum.h"

namespace moe4 {
namespace {

// At least |RN(z) - z| - alpha for |z| <= bound: half the distance of numbers in the binade of z.
inline Pair half_ulp(const Pair& bound, double unit) { return binade_of(bound * kGrow) * unit; }

template <bool kRounded>
RunSum sum(const SumContext& context, std::size_t begin, std::size_t end) {
  const double unit = context.format.unit;
  const double product_unit = context.format.products_inexact ? unit : 0.0;
  // Every rounding may lack alpha; charged in advance, so that the loop has one addition less.
  const double alpha = context.format.underflow * (kRounded ? 2 : 1) * static_cast<double>(end - begin);
  RowPairs value{};
  RowPairs error;
  error.fill(splat(alpha));
  for (std::size_t p = begin; p < end; ++p) {
    const double x = context.token.x[p];
    const RowPairs& w = context.rows.w[p];
#pragma GCC unroll 4
    for (std::size_t k = 0; k < kPairs; ++k) {
      const Pair product = w[k] * x;
      if constexpr (kRounded) error[k] += half_ulp(magnitude_of(product), product_unit);
      value[k] += product;
      error[k] += half_ulp(magnitude_of(value[k]) + error[k], unit);
    }
  }
  RunSum run;
  for (std::size_t k = 0; k < kPairs; ++k) {
    // BND-14: the double sum is off by less than 2^-28 E.
    const PairMask rounds = context.rounding[k] > splat(0.0);
    run.value[k] = value[k];
    run.slack[k] = keep(rounds, error[k] * 0x1p-28);
    run.below[k] = error[k] * kGrow;
    run.above[k] = run.below[k];
  }
  return run;
}

}  // namespace

RunSum ieee_run(const SumContext& context, std::size_t begin, std::size_t end, bool product_rounded) {
  return product_rounded ? sum<true>(context, begin, end) : sum<false>(context, begin, end);
}

void join(RunSum& a, const RunSum& b, const AccumulationFormat& format) {
  for (std::size_t k = 0; k < kPairs; ++k) {
    a.value[k] += b.value[k];
    const Pair size = magnitude_of(a.value[k]);
    const Pair in_double = size * 0x1p-52;  // BND-14
    const Pair below = a.below[k] + b.below[k];
    const Pair above = a.above[k] + b.above[k];
    const Pair rounding =
        half_ulp(size + larger(below, above), format.unit) + splat(format.underflow) + in_double;
    const PairMask rounds = a.slack[k] + b.slack[k] > splat(0.0);
    a.below[k] = (below + rounding) * kGrow;
    a.above[k] = (above + rounding) * kGrow;
    a.slack[k] = keep(rounds, (a.slack[k] + b.slack[k] + in_double) * kGrow);
  }
}

void join_scaled(RunSum& a, const RowPairs& s, RunSum b, const AccumulationFormat& format,
                 bool product_rounded) {
  for (std::size_t k = 0; k < kPairs; ++k) {
    const Pair size = magnitude_of(s[k]);
    const PairMask negative = s[k] < splat(0.0);
    const Pair below = b.below[k] * size;
    const Pair above = b.above[k] * size;
    b.value[k] *= s[k];
    Pair rounding = magnitude_of(b.value[k]) * 0x1p-52;
    if (product_rounded) {
      rounding +=
          half_ulp(magnitude_of(b.value[k]) + larger(below, above), format.unit) + splat(format.underflow);
    }
    b.below[k] = (keep(negative, above) + keep(~negative, below) + rounding) * kGrow;
    b.above[k] = (keep(negative, below) + keep(~negative, above) + rounding) * kGrow;
    const PairMask rounds = b.slack[k] > splat(0.0);
    b.slack[k] = keep(rounds, (b.slack[k] * size + magnitude_of(b.value[k]) * 0x1p-52) * kGrow);
  }
  join(a, b, format);
}

}  // namespace moe4
