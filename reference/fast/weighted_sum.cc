#include "reference/fast/weighted_sum.h"

#include <cmath>

namespace moe4::fast {
namespace {

// Inside, sums of 2^20 terms do not overflow, and the rest of a product is exact.
constexpr double kLargest = 0x1p980;
constexpr double kSmallest = 0x1p-800;

}  // namespace

WeightedSum::WeightedSum(double s) {
  if (!std::isfinite(s)) {
    non_finite_ = true;
    special_ = s;
  } else if (std::fabs(s) > kLargest) {
    out_of_range_ = true;
  } else {
    high_ = s;
  }
}

void WeightedSum::accumulate(double v) {
  double rest = 0;
  two_sum(high_, v, high_, rest);
  double lost = 0;
  two_sum(low_, rest, low_, lost);
  error_ += std::fabs(lost);
}

void WeightedSum::add(double p, double d, double error) {
  if (!std::isfinite(p) || !std::isfinite(d)) {
    // LIN-5: an infinite p takes the sign of the true d, and is NaN if that is zero.
    if (error != 0 && std::fabs(d) <= error) unknown_sign_ = true;
    non_finite_ = true;
    special_ += p * d;
    return;
  }
  if (p == 0) return;
  const double of_error = std::fabs(p) * error;
  if (error != 0 && (of_error < kSmallest || of_error > kLargest)) {
    out_of_range_ = true;
    return;
  }
  error_ += of_error;
  if (d == 0) return;
  const double product = p * d;
  const double magnitude = std::fabs(product);
  if (magnitude < kSmallest || magnitude > kLargest) {
    out_of_range_ = true;
    return;
  }
  const double rest = std::fma(p, d, -product);
  accumulate(product);
  double lost = 0;
  two_sum(low_, rest, low_, lost);
  error_ += std::fabs(lost);
}

std::optional<std::uint64_t> WeightedSum::round(Dtype dtype, Counters& counters) const {
  if (non_finite_) {
    if (unknown_sign_) return std::nullopt;
    ++counters.non_finite;
    return round_double(dtype, special_);
  }
  if (out_of_range_) return std::nullopt;
  const std::optional<std::uint64_t> bits = round_interval(dtype, {high_, low_, error_ * (1 + 0x1p-20)});
  if (bits) ++(error_ == 0 ? counters.certified : counters.rounding_test);
  return bits;
}

}  // namespace moe4::fast
