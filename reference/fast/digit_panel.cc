#include "reference/fast/digit_panel.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "reference/formats/packed_codes.h"

namespace moe4::fast {
namespace {

constexpr int kMaxDigits = 32;  // an F32 has at most 19: its bits reach from 2^127 to 2^-149
constexpr std::int64_t kPairs = kGroupSize / 2;

}  // namespace

bool DigitPanel::load(const float* tokens, const float* max_abs, std::int64_t rows, std::int64_t groups,
                      std::int64_t stride, int threads) {
  const Kernels& kernels = chosen_kernels();
  rows_ = rows;
  used_.assign(static_cast<std::size_t>(rows * groups), 0);
  unit_.assign(static_cast<std::size_t>(rows), 1);
  std::vector<std::int64_t> digit_rows(static_cast<std::size_t>(rows), 0);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto row = static_cast<std::size_t>(r);
    // max_abs < 2^15 units.
    if (max_abs[r] != 0) unit_[row] = std::ldexp(1.0, std::ilogb(max_abs[r]) - (kDigitBits - 1));
    for (std::int64_t g = 0; g < groups; ++g) {
      const std::uint32_t used = kernels.used_digits(tokens + r * stride + g * kGroupSize, 1 / unit_[row]);
      used_[static_cast<std::size_t>(r * groups + g)] = used;
      digit_rows[row] += std::popcount(used);
    }
  }
  chain_ = 1;
  std::int64_t total = 0;
  for (const std::int64_t count : digit_rows) {
    chain_ = std::max(chain_, count);
    total += count;
  }
  if (total > 2 * rows * groups) return false;

  first_plane_.clear();
  planes_.clear();
  digit_.clear();
  row_.clear();
  for (std::int64_t g = 0; g < groups; ++g) {
    first_plane_.push_back(static_cast<std::int64_t>(planes_.size()));
    std::uint32_t any = 0;
    for (std::int64_t r = 0; r < rows; ++r) any |= used_[static_cast<std::size_t>(r * groups + g)];
    for (int k = 0; k < kMaxDigits; ++k) {
      if ((any >> k & 1) == 0) continue;
      const auto begin = static_cast<std::int64_t>(row_.size());
      for (std::int64_t r = 0; r < rows; ++r) {
        if ((used_[static_cast<std::size_t>(r * groups + g)] >> k & 1) != 0) {
          row_.push_back(static_cast<std::int32_t>(r));
        }
      }
      planes_.push_back({std::ldexp(1.0, -kDigitBits * k), begin, static_cast<std::int64_t>(row_.size())});
      digit_.push_back(k);
    }
  }
  first_plane_.push_back(static_cast<std::int64_t>(planes_.size()));

  std::int32_t* const out = digits_.resize(std::max<std::int64_t>(total, 1) * kPairs);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (std::int64_t g = 0; g < groups; ++g) {
    for (std::int64_t p = first_plane_[static_cast<std::size_t>(g)];
         p < first_plane_[static_cast<std::size_t>(g) + 1]; ++p) {
      const DigitPlane& plane = planes_[static_cast<std::size_t>(p)];
      for (std::int64_t n = plane.begin; n < plane.end; ++n) {
        const auto row = static_cast<std::size_t>(row_[static_cast<std::size_t>(n)]);
        kernels.cut_digits(tokens + static_cast<std::int64_t>(row) * stride + g * kGroupSize, 1 / unit_[row],
                           digit_[static_cast<std::size_t>(p)], out + kPairs * n);
      }
    }
  }
  return true;
}

DigitJob DigitPanel::job() const {
  return {{}, rows_, first_plane_.data(), planes_.data(), digits_.data(), row_.data(), unit_.data(), nullptr};
}

}  // namespace moe4::fast
