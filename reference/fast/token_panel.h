// Rows of tokens as the kernels read them, with what certificates need to know of them.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "reference/fast/aligned.h"
#include "reference/fast/digit_panel.h"
#include "reference/fast/loops/kernels.h"
#include "reference/tensor.h"

namespace moe4::fast {

// Where a row of tokens is in a tensor [a,b,I].
using TokenIndex = std::array<std::int64_t, 2>;

class TokenPanel {
 public:
  // Precondition: tokens is a valid [a,b,I] of BF16, F16 or F32, I a multiple of 32.
  void load(const TensorView& tokens, std::span<const TokenIndex> rows, int threads);

  std::int64_t rows() const { return rows_; }
  std::int64_t groups() const { return groups_; }
  std::int64_t stride() const { return stride_; }
  // [rows][stride], in the order of a group; all these dtypes are F32 numbers.
  const float* f32() const { return f32_.data(); }
  // The same in FP64, made when it is first asked for. Any thread may ask.
  const double* f64() const;

  // The same as integers; null if the kernels in use have no use for them, or they would take too many.
  const DigitPanel* digits() const { return has_digits_ ? &digits_ : nullptr; }

  // Of each group of a row, over its finite elements: Σ|x| as a sum in FP64, and the exponent of the lowest
  // bit.
  const double* sum_abs(std::int64_t row) const { return &sum_abs_[static_cast<std::size_t>(row * groups_)]; }
  const std::int32_t* lsb(std::int64_t row) const { return &lsb_[static_cast<std::size_t>(row * groups_)]; }
  // The largest and the least of all rows.
  const double* most_sum_abs() const { return most_sum_abs_.data(); }
  const std::int32_t* least_lsb() const { return least_lsb_.data(); }
  // Σ|x| of the whole row.
  double row_sum_abs(std::int64_t row) const { return row_sum_abs_[static_cast<std::size_t>(row)]; }

 private:
  std::int64_t rows_ = 0;
  std::int64_t groups_ = 0;
  std::int64_t stride_ = 0;
  Aligned<float> f32_;
  mutable Aligned<double> f64_;
  mutable bool has_f64_ = false;
  mutable std::mutex f64_mutex_;
  DigitPanel digits_;
  bool has_digits_ = false;
  std::vector<float> max_abs_;
  std::vector<double> sum_abs_;
  std::vector<std::int32_t> lsb_;
  std::vector<double> most_sum_abs_;
  std::vector<std::int32_t> least_lsb_;
  std::vector<double> row_sum_abs_;
};

// How many rows of width `in` a panel should hold: 256, or fewer to stay under a fixed memory.
std::int64_t panel_rows(std::int64_t in);

}  // namespace moe4::fast
