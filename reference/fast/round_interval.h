// From a sum of two doubles with an error bound to an encoding, if there is only one.
#pragma once

#include <cstdint>
#include <optional>

#include "reference/formats/exact_value.h"
#include "reference/tensor.h"

namespace moe4::fast {

// The same number as a double. Precondition: a value of any of the formats here, so it is one.
double to_double(const ExactValue& value);

// The number high + low is within `error` of the true one; error 0: it is the true one.
struct Approximation {
  double high = 0;
  double low = 0;
  double error = 0;
};

// a + b = high + low exactly (Knuth). Precondition: no overflow.
inline void two_sum(double a, double b, double& high, double& low) {
  high = a + b;
  const double b_part = high - a;
  const double a_part = high - b_part;
  const double b_error = b - b_part;
  const double a_error = a - a_part;
  low = a_error + b_error;
}

// The encoding to which every number of the interval rounds to nearest even (FMT-7), or nothing if there are
// two. An exact zero is +0. Precondition: finite and below 2^1001.
std::optional<std::uint64_t> round_interval(Dtype dtype, const Approximation& value);

// RNE of one double, NaN and infinities too (FMT-7, FMT-8); a zero keeps its sign.
std::uint64_t round_double(Dtype dtype, double value);

// round_double to BF16 for a finite value, a zero to +0.
std::uint16_t round_to_bf16(double value);

}  // namespace moe4::fast
