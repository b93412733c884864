#include "reference/bound/accumulation_format.h"

#include <limits>

namespace moe4 {

AccumulationFormat accumulation_format(Dtype tokens, const Arithmetic& arithmetic) {
  const bool scaled = arithmetic.dequant == Int4Order::kAccumulatorScale;
  // BND-1. FTZ exists for F32 instructions only.
  if (tokens == Dtype::kF64) {
    return {0x1p-53, 0x1p-1060, std::numeric_limits<double>::max(), 53, -1074, true, false, scaled};
  }
  const double largest = std::numeric_limits<float>::max();
  const bool inexact = tokens == Dtype::kF32;
  if (arithmetic.ftz) return {0x1p-24, 0x1p-123, largest, 24, -126, inexact, true, scaled};  // BND-8
  return {0x1p-24, 0x1p-150, largest, 24, -149, inexact, false, scaled};
}

}  // namespace moe4
