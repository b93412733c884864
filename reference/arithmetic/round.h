// The one rounding of the project's exact numbers, in integers only.
#pragma once

#include <cstdint>

#include "reference/formats/float_format.h"

namespace moe4 {

// A magnitude (significand + f) * 2^exponent, with f = 0 if !sticky and 0 < f < 1 if sticky.
// If sticky, the highest bit of significand is set.
struct WideMagnitude {
  std::uint64_t significand = 0;
  std::int32_t exponent = 0;
  bool sticky = false;
};

// FMT-7: the encoding of (-1)^negative * magnitude, rounded to nearest even. A zero magnitude gives the zero
// of that sign; overflow gives the infinity of that sign; subnormals are kept.
std::uint64_t round_to(const FloatFormat& format, bool negative, const WideMagnitude& magnitude);

// The same for a value: NaN becomes the canonical NaN (FMT-8), an infinity stays one.
std::uint64_t round_to(const FloatFormat& format, const ExactValue& value);

}  // namespace moe4
