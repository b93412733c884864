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

// One row of tokens in the order of a group.
void read_row(const TensorView& tokens, const Elements<3>& elements, const TokenIndex& source, float* out) {
  const std::int64_t in = tokens.dim(2);
  const Shape strides = tokens.strides_or_contiguous();
  if (tokens.dtype == Dtype::kBF16 && strides[2] == 1) {
    const std::int64_t at = source[0] * strides[0] + source[1] * strides[1];
    chosen_kernels().widen_bf16(static_cast<const std::uint8_t*>(tokens.data) + 2 * at, in / kGroupSize, out);
    return;
  }
  for (std::int64_t i = 0; i < in; ++i) {
    const std::int64_t k = i % kGroupSize;
    const std::int64_t place = k / 2 + (k % 2) * (kGroupSize / 2);
    out[i - k + place] = widen(tokens.dtype, elements.bits({source[0], source[1], i}));
  }
}

}  // namespace

std::int64_t panel_rows(std::int64_t in) {
  // F32, FP64, two digits an element, and what is known of each group.
  constexpr std::int64_t kBytes = sizeof(float) + sizeof(double) + 2 * sizeof(std::int16_t) + 1;
  const std::int64_t row_bytes = kBytes * padded_stride(in);
  return std::clamp<std::int64_t>(kMaxPanelBytes / row_bytes, 1, kMaxPanelRows);
}

void TokenPanel::load(const TensorView& tokens, std::span<const TokenIndex> rows, int threads) {
  const Elements<3> elements(tokens);
  const Kernels& kernels = chosen_kernels();
  rows_ = static_cast<std::int64_t>(rows.size());
  groups_ = tokens.dim(2) / kGroupSize;
  stride_ = padded_stride(tokens.dim(2));
  float* const f32 = f32_.resize(rows_ * stride_);
  has_f64_ = false;
  sum_abs_.resize(static_cast<std::size_t>(rows_ * groups_));
  lsb_.resize(static_cast<std::size_t>(rows_ * groups_));
  row_sum_abs_.assign(static_cast<std::size_t>(rows_), 0);
  max_abs_.resize(static_cast<std::size_t>(rows_));
  bool finite = true;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(&& : finite) if (threads > 1)
  for (std::int64_t r = 0; r < rows_; ++r) {
    const auto row = static_cast<std::size_t>(r);
    float* const x = f32 + r * stride_;
    double* const sum_abs = &sum_abs_[static_cast<std::size_t>(r * groups_)];
    read_row(tokens, elements, rows[row], x);
    const TokenFacts facts = kernels.scan(x, groups_, sum_abs, &lsb_[static_cast<std::size_t>(r * groups_)]);
    max_abs_[row] = facts.max_abs;
    finite = finite && facts.finite;
    for (std::int64_t g = 0; g < groups_; ++g) row_sum_abs_[row] += sum_abs[g];
  }
  most_sum_abs_.assign(static_cast<std::size_t>(groups_), 0);
  least_lsb_.assign(static_cast<std::size_t>(groups_), kNoBits);
  for (std::int64_t r = 0; r < rows_; ++r) {
    for (std::int64_t g = 0; g < groups_; ++g) {
      const auto group = static_cast<std::size_t>(g);
      most_sum_abs_[group] = std::max(most_sum_abs_[group], sum_abs(r)[g]);
      least_lsb_[group] = std::min(least_lsb_[group], lsb(r)[g]);
    }
  }
  has_digits_ = finite && kernels.dot_digits != nullptr &&
                digits_.load(f32, max_abs_.data(), rows_, groups_, stride_, threads);
}

const double* TokenPanel::f64() const {
  const std::lock_guard<std::mutex> lock(f64_mutex_);
  if (!has_f64_) {
    double* const out = f64_.resize(rows_ * stride_);
    for (std::int64_t r = 0; r < rows_; ++r) {
      chosen_kernels().to_f64(f32() + r * stride_, kGroupSize * groups_, out + r * stride_);
    }
    has_f64_ = true;
  }
  return f64_.data();
}

}  // namespace moe4::fast
