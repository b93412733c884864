#include "reference/fast/token_panel.h"

#include <algorithm>
#include <bit>

#include "reference/arithmetic/round.h"
#include "reference/formats/elements.h"
#include "reference/formats/packed_codes.h"

namespace moe4::fast {
namespace {

constexpr std::int64_t kMaxPanelRows = 256;
constexpr std::int64_t kMaxPanelBytes = 48 << 20;

// BF16, F16 and F32 as F32: exact.
float widen(Dtype dtype, std::uint64_t bits) {
  switch (dtype) {
    case Dtype::kBF16:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
    case Dtype::kF32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    default:
      return std::bit_cast<float>(static_cast<std::uint32_t>(round_to(kF32, decode_float(kF16, bits))));
  }
}

// The exponent of the lowest set bit. Precondition: finite, not zero.
std::int32_t lowest_bit(std::uint32_t bits) {
  const auto field = static_cast<std::int32_t>((bits >> 23) & 0xFF);
  const std::uint32_t significand = (bits & 0x7FFFFF) | (field != 0 ? 0x800000U : 0U);
  return std::max(field, 1) - 150 + std::countr_zero(significand);
}

}  // namespace

std::int64_t panel_rows(std::int64_t in) {
  const auto row_bytes = static_cast<std::int64_t>(sizeof(double) + sizeof(float)) * padded_stride(in);
  return std::clamp<std::int64_t>(kMaxPanelBytes / row_bytes, 1, kMaxPanelRows);
}

void TokenPanel::load(const TensorView& tokens, std::span<const TokenIndex> rows) {
  const Elements<3> elements(tokens);
  rows_ = static_cast<std::int64_t>(rows.size());
  groups_ = tokens.dim(2) / kGroupSize;
  stride_ = padded_stride(tokens.dim(2));
  double* f64 = f64_.resize(rows_ * stride_);
  float* f32 = f32_.resize(rows_ * stride_);
  sum_abs_.assign(static_cast<std::size_t>(rows_ * groups_), 0);
  lsb_.assign(static_cast<std::size_t>(rows_ * groups_), kNoBits);
  most_sum_abs_.assign(static_cast<std::size_t>(groups_), 0);
  least_lsb_.assign(static_cast<std::size_t>(groups_), kNoBits);
  row_sum_abs_.assign(static_cast<std::size_t>(rows_), 0);

  bool finite = true;
  for (std::int64_t row = 0; row < rows_; ++row, f64 += stride_, f32 += stride_) {
    const TokenIndex& source = rows[static_cast<std::size_t>(row)];
    for (std::int64_t g = 0; g < groups_; ++g) {
      double sum_abs = 0;
      std::int32_t lsb = kNoBits;
      for (int k = 0; k < kGroupSize; ++k) {
        const float x = widen(tokens.dtype, elements.bits({source[0], source[1], g * kGroupSize + k}));
        const int place = k / 2 + (k % 2) * (kGroupSize / 2);  // the order of a group
        f32[g * kGroupSize + place] = x;
        f64[g * kGroupSize + place] = static_cast<double>(x);
        const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(x) & 0x7FFFFFFF;
        finite = finite && magnitude < 0x7F800000;
        if (magnitude == 0 || magnitude >= 0x7F800000) continue;
        sum_abs += static_cast<double>(std::bit_cast<float>(magnitude));
        lsb = std::min(lsb, lowest_bit(magnitude));
      }
      const auto at = static_cast<std::size_t>(row * groups_ + g);
      const auto group = static_cast<std::size_t>(g);
      sum_abs_[at] = sum_abs;
      lsb_[at] = lsb;
      most_sum_abs_[group] = std::max(most_sum_abs_[group], sum_abs);
      least_lsb_[group] = std::min(least_lsb_[group], lsb);
      row_sum_abs_[static_cast<std::size_t>(row)] += sum_abs;
    }
  }
  has_digits_ =
      finite && chosen_kernels().dot_digits != nullptr && digits_.load(f32_.data(), rows_, groups_, stride_);
}

}  // namespace moe4::fast
