// Rows of tokens as integers: x = unit·(d_0 + 2^-15·d_1 + 2^-30·d_2 + …), each |d_k| < 2^15, cut toward zero,
// so that all digits of an element have its sign and their magnitudes add up to its own. BF16 and F16 seldom
// need more than two digits, and most groups one.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/fast/aligned.h"
#include "reference/fast/loops/kernels.h"

namespace moe4::fast {

class DigitPanel {
 public:
  // tokens: [rows][stride], the first 32·groups of each, in the order of a group (kernels.h); max_abs:
  // [rows]. Precondition: finite. False, and not usable, if that takes more than two digits an element on
  // average.
  bool load(const float* tokens, const float* max_abs, std::int64_t rows, std::int64_t groups,
            std::int64_t stride, int threads);

  // The fields of the tokens; weights and sums are the caller's.
  DigitJob job() const;
  // The most digit rows that a row of tokens has: its sums are that many.
  std::int64_t chain() const { return chain_; }

 private:
  std::int64_t rows_ = 0;
  std::int64_t chain_ = 0;
  std::vector<std::int64_t> first_plane_;
  std::vector<DigitPlane> planes_;
  std::vector<int> digit_;  // of each plane
  Aligned<std::int32_t> digits_;
  std::vector<std::int32_t> row_;
  std::vector<double> unit_;
  std::vector<std::uint32_t> used_;  // [rows][groups]: bit k: some element has a digit k
};

}  // namespace moe4::fast
