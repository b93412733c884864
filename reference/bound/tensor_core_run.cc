#include <cmath>

#include "reference/bound/run_sum.h"

namespace moe4 {
namespace {

constexpr std::size_t kLargestStep = 16;
constexpr double kGrid = 0x1p-149;  // of F32

// What bounds 2^(e_max - F), the grid that the terms of a step are cut to.
struct Grid {
  double scale;             // 2^-F
  double floor_of_zeros;    // 2^e_zero
  double smallest_operand;  // 2^(lowest exponent of an operand), that of zeros and subnormals
};

Grid grid_of(const TensorCore& unit, bool f16) {
  return {std::ldexp(1.0, -unit.fraction_bits), std::ldexp(1.0, unit.zero_exponent),
          f16 ? 0x1p-14 : 0x1p-126};
}

// The state of eight accumulators between steps.
struct Accumulators {
  RowPairs value{};  // the exact sum so far, in double
  RowPairs below{};  // the accumulator is in [value - below - delta, value + above + delta]
  RowPairs above{};
  RowPairs magnitudes{};  // the sum of |w·x| so far
};

struct Step {
  std::array<RowPairs, kLargestStep> product;
  RowPairs sum{};
  RowPairs largest{};  // magnitude
};

// |p| mod grid for each product of the step, the positive ones into below and the negative ones into above:
// what the cut toward zero takes away. Exact, since a product has fewer than 25 significant bits.
void cut_products(const Step& step, std::size_t count, std::size_t k, const Pair& grid, Pair& below,
                  Pair& above) {
  const Pair nearly_half = grid * (0.5 - 0x1p-26);
  const Pair shift = grid * 0x1.8p52;
  for (std::size_t n = 0; n < count; ++n) {
    const Pair& product = step.product[n][k];
    const Pair size = magnitude_of(product);
    const Pair kept = ((size - nearly_half) + shift) - shift;
    const Pair cut = size - kept;
    const PairMask negative = product < splat(0.0);
    below += keep(~negative, cut);
    above += keep(negative, cut);
  }
}

}  // namespace

RunSum tensor_core_run(const SumContext& context, std::size_t begin, std::size_t end,
                       const TensorCore& unit) {
  const Grid grid = grid_of(unit, context.f16);
  const auto length = static_cast<std::size_t>(unit.products);
  RowPairs floor;  // BND-19: what zeros and subnormals can count with
  for (std::size_t k = 0; k < kPairs; ++k) {
    const Pair operand = larger(context.rows.largest[k], splat(context.token.largest_of_all));
    const Pair zero_or_subnormal = larger(operand, splat(grid.smallest_operand)) * grid.smallest_operand;
    floor[k] = larger(zero_or_subnormal, splat(grid.floor_of_zeros));
  }

  Accumulators c;
  Step step;
  for (std::size_t first = begin; first < end; first += length) {
    const std::size_t count = std::min(length, end - first);
    step.sum = RowPairs{};
    step.largest = RowPairs{};
    for (std::size_t n = 0; n < count; ++n) {
      const double x = context.token.x[first + n];
      const RowPairs& w = context.rows.w[first + n];
#pragma GCC unroll 4
      for (std::size_t k = 0; k < kPairs; ++k) {
        const Pair product = w[k] * x;
        const Pair size = magnitude_of(product);
        step.product[n][k] = product;
        step.sum[k] += product;
        step.largest[k] = larger(step.largest[k], size);
        c.magnitudes[k] += size;
      }
    }
    for (std::size_t k = 0; k < kPairs; ++k) {
      // Where the accumulator can be.
      const Pair delta = c.magnitudes[k] * context.rounding[k];
      const Pair off = (larger(c.below[k], c.above[k]) + delta) * kGrow;
      const Pair at_most = (magnitude_of(c.value[k]) + off) * kGrow;
      const Pair at_least = magnitude_of(c.value[k]) - off;
      const PairMask settled = at_least > splat(0.0);
      const PairMask negative = settled & (c.value[k] < splat(0.0));
      const PairMask positive = settled & (c.value[k] > splat(0.0));

      // The cuts to the grid; toward zero, so to one side where the sign is known (BND-21).
      const Pair of_products = binade_of(larger(step.largest[k], floor[k])) * grid.scale;
      const Pair widest = larger(of_products, binade_of(at_most) * grid.scale);
      cut_products(step, count, k, widest, c.below[k], c.above[k]);
      const PairMask cuts_c = (at_least < of_products * 0x1p23) & (of_products > splat(kGrid));
      const Pair cut_c = keep(cuts_c, smaller(of_products, at_most));
      c.below[k] += keep(~negative, cut_c);
      c.above[k] += keep(~positive, cut_c);

      // The cut to F32.
      const Pair finest =
          larger(binade_of(step.largest[k]) * 0.5, binade_of(keep(settled, at_least))) * grid.scale;
      c.value[k] += step.sum[k];
      const Pair delta_now = c.magnitudes[k] * context.rounding[k];
      const Pair off_now = (larger(c.below[k], c.above[k]) + delta_now) * kGrow;
      const Pair size = magnitude_of(c.value[k]);
      const Pair sum_at_most = (size + off_now) * kGrow;
      const Pair ulp = larger(binade_of(sum_at_most) * 0x1p-23, splat(kGrid));
      const Pair cut = smaller(larger(ulp - finest, splat(0.0)), sum_at_most);
      const PairMask sum_settled = size > off_now;
      const PairMask sum_negative = sum_settled & (c.value[k] < splat(0.0));
      const PairMask sum_positive = sum_settled & (c.value[k] > splat(0.0));
      c.below[k] += keep(~sum_negative, cut);
      c.above[k] += keep(~sum_positive, cut);
    }
  }

  RunSum run;
  for (std::size_t k = 0; k < kPairs; ++k) {
    run.value[k] = c.value[k];
    run.slack[k] = c.magnitudes[k] * context.rounding[k];
    run.below[k] = (c.below[k] + run.slack[k]) * kGrow;
    run.above[k] = (c.above[k] + run.slack[k]) * kGrow;
  }
  return run;
}

}  // namespace moe4
