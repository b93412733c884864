#include "reference/bound/partial_sums.h"

#include <algorithm>
#include <cmath>

#include "reference/bound/directed.h"

namespace moe4 {
namespace {

constexpr std::size_t kOrdered = 3;  // PRO-18

double bf16(double v) { return round_double(kBF16, v); }

}  // namespace

PartialSums sum_of_partials(std::span<const Partial> partials) {
  PartialSums sums;
  double magnitudes = 0;
  for (std::size_t k = 0; k < partials.size(); ++k) {
    const Partial& p = partials[k];
    const double exact = bf16(p.value);
    sums.exact_known = sums.exact_known && bf16(sum_down(p.value, -p.slack)) == exact &&
                       bf16(sum_up(p.value, p.slack)) == exact;
    const double lo = bf16(sum_down(p.value, -p.below));
    const double hi = bf16(sum_up(p.value, p.above));
    magnitudes += std::max(std::fabs(lo), std::fabs(hi));
    sums.exact = k == 0 ? exact : bf16(exact + sums.exact);
    if (k == 0 || partials.size() > kOrdered) {
      sums.lo = sum_down(sums.lo, lo);
      sums.hi = sum_up(sums.hi, hi);
    } else {
      sums.lo = bf16(sum_down(lo, sums.lo));
      sums.hi = bf16(sum_up(hi, sums.hi));
    }
  }
  if (partials.size() > kOrdered) {  // BND-23: any tree of n-1 additions in BF16
    const auto n = static_cast<double>(partials.size());
    const double growth = std::pow(1 + 0x1p-8, n - 1) * (1 + 0x1p-20);
    const double error = (growth - 1) * magnitudes * (1 + 0x1p-20) + n * growth * 0x1p-134;
    sums.lo = bf16(sum_down(sums.lo, -error));
    sums.hi = bf16(sum_up(sums.hi, error));
  }
  constexpr double kLargest = 0x1.fep127;
  sums.overflow = !(magnitudes < kLargest) || !std::isfinite(sums.lo) || !std::isfinite(sums.hi);
  if (sums.overflow) {
    sums.exact_known = sums.exact_known && std::isfinite(sums.exact);
    sums.lo = std::isnan(sums.lo) ? -kLargest : std::clamp(sums.lo, -kLargest, kLargest);
    sums.hi = std::isnan(sums.hi) ? kLargest : std::clamp(sums.hi, -kLargest, kLargest);
  }
  return sums;
}

}  // namespace moe4
