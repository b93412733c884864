// DATA-33: between which powers of two the sums of an exact fill must lie, so that no profile under- or
// overflows.
#pragma once

#include <cmath>

#include "oracle/case/output_rows.h"
#include "oracle/generate/code_magnitudes.h"
#include "reference/formats/float_format.h"

namespace moe4::oracle {

class ExactRange {
 public:
  // Exact partial sums of every profile, also those in the output dtype: no underflow, no overflow. With the
  // limit of 2^8 the output itself must be exact; with 2^24 it is rounded once.
  ExactRange(const CaseData& data, int bits) {
    const bool half = output_shape(data).dtype == Dtype::kF16;
    lowest_unit_ = half && bits == 8 ? kF16.lsb_exponent() : -126;
    largest_ = half ? 65504.0 : std::ldexp(1.0, 127);
  }

  // A sum of magnitudes, all multiples of 2^unit.
  bool holds(double sum, int unit) const {
    return unit == kNoBits || (unit >= lowest_unit_ && sum <= largest_);
  }

 private:
  int lowest_unit_;
  double largest_;
};

}  // namespace moe4::oracle
