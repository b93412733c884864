// The sums of a tile: a few rows of one expert's weights against a panel of tokens, and what is proved of
// each.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "reference/fast/certificate.h"
#include "reference/fast/token_panel.h"
#include "reference/fast/weight_rows.h"

namespace moe4::fast {

// One for each thread. Limits: ProvenLimits, but in a test that plants a fault.
template <class Limits>
class DotTile {
 public:
  DotTile(const ExpertWeights& weights, const Policy& policy) : weights_(weights, policy) {}

  // Rows o .. o + count - 1 of expert e against all rows of the panel. Borrows the panel.
  void compute(const TokenPanel& panel, std::int64_t e, std::int64_t o, std::int64_t count) {
    panel_ = &panel;
    const Kernels& kernels = chosen_kernels();
    weights_.select(e, o, count);
    chain_ = chain_length(kernels, panel.groups() * 32);
    in_f32_ = true;
    bool in_digits = panel.digits() != nullptr;
    for (std::int64_t k = 0; k < count; ++k) {
      RowBound& bound = bounds_[static_cast<std::size_t>(k)];
      bound = bound_of(k, panel.most_sum_abs(), panel.least_lsb());
      exact_[static_cast<std::size_t>(k)] = exact_in_f64<Limits>(bound);
      in_f32_ = in_f32_ && exact_in_f32<Limits>(bound);
      in_digits = in_digits && bound.max_abs < 0x1p127;
    }
    if (in_digits) {
      in_f32_ = false;
      multiply_digits(kernels.dot_digits);
    } else if (in_f32_) {
      multiply(kernels.dot_f32, panel.f32(), panel_f32_, lanes_f32_);
    } else {
      multiply(kernels.dot_f64, panel.f64(), panel_f64_, lanes_f64_);
    }
  }

  // The sum of row k of the tile for a row of the panel.
  double sum(std::int64_t row, std::int64_t k) const { return sums_.data()[row * sums_stride_ + k]; }
  // Exact, for every row of the panel, and computed in FP32.
  bool in_f32() const { return in_f32_; }
  // Is sum(row, k) exact for every row of the panel, if it is finite?
  bool exact(std::int64_t k) const { return exact_[static_cast<std::size_t>(k)]; }
  // How far sum(row, k) can be from the true sum; cheap, above zero even if it is exact.
  double quick_error(std::int64_t row, std::int64_t k) const {
    const RowBound& bound = bounds_[static_cast<std::size_t>(k)];
    const double sum_abs = std::min(bound.sum_abs, upper(bound.max_abs * panel_->row_sum_abs(row)));
    return error_bound<Limits>(chain_, sum_abs);
  }
  // The same from the groups of this row of tokens; 0 if they prove it exact.
  double error(std::int64_t row, std::int64_t k) const {
    if (exact(k)) return 0;
    const RowBound bound = bound_of(k, panel_->sum_abs(row), panel_->lsb(row));
    return exact_in_f64<Limits>(bound) ? 0 : error_bound<Limits>(chain_, bound.sum_abs);
  }

 private:
  RowBound bound_of(std::int64_t k, const double* sum_abs, const std::int32_t* lsb) const {
    RowBound bound =
        chosen_kernels().bound(weights_.format(), weights_.scales(k), panel_->groups(), sum_abs, lsb);
    bound.sum_abs = upper(bound.sum_abs);
    return bound;
  }

  template <class T>
  void multiply(void (*dot)(const DotJob<T>&), const T* tokens, Aligned<T>& panel, Aligned<T>& lanes) {
    const std::int64_t octets = weights_.octet_count();
    sums_stride_ = octets * kOctet;
    constexpr std::int64_t kVectorBytes = 64;
    const std::int64_t lane_count = octets * panel_->rows() * kOctet * kVectorBytes;
    dot({weights_.octets(0, octets), panel_->rows(), tokens, panel_->stride(),
         panel.resize(kOctet * kPanelStride), lanes.resize(lane_count / static_cast<std::int64_t>(sizeof(T))),
         sums_.resize(panel_->rows() * octets * kOctet)});
  }

  void multiply_digits(void (*dot)(const DigitJob&)) {
    sums_stride_ = kDigitTileRows;
    chain_ = panel_->digits()->chain();
    DigitJob job = panel_->digits()->job();
    job.weights = weights_.octets(0, kTileOctets);
    job.sums = sums_.resize(panel_->rows() * kDigitTileRows);
    dot(job);
  }

  WeightTile weights_;
  const TokenPanel* panel_ = nullptr;
  std::int64_t chain_ = 1;
  std::int64_t sums_stride_ = 0;
  bool in_f32_ = false;
  std::array<RowBound, kTileRows> bounds_{};
  std::array<bool, kTileRows> exact_{};
  Aligned<double> sums_;
  Aligned<double> panel_f64_, lanes_f64_;
  Aligned<float> panel_f32_, lanes_f32_;
};

}  // namespace moe4::fast
