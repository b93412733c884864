// Is the host's float unit the one that the project's float code counts on? The norm itself is integers only;
// bounds, profiles and generators are not.
#pragma once

#include "reference/status.h"

namespace moe4 {

// Answers of the float unit, each computed at run time from operands that the compiler cannot see through.
struct FloatProbes {
  // (1 + 2^-12)^2 - (1 + 2^-11) in F32 and (1 + 2^-27)^2 - (1 + 2^-26) in F64, written as a product and a
  // sum: 0 with two roundings, not 0 if contracted to one.
  float contraction_f32;
  double contraction_f64;
  float subnormal_result;   // 2^-126 * 2^-1 is 2^-127; 0 if results are flushed
  float subnormal_operand;  // 2^-149 * 2^24 is 2^-125; 0 if operands are flushed
  float tie_down;           // 1 + 2^-24 is 1 to nearest even
  float tie_up;             // (1 + 2^-23) + 2^-24 is 1 + 2^-22 to nearest even
};

FloatProbes measure_float_probes();

// An Error that names the first probe with a wrong answer.
Status judge_float_probes(const FloatProbes& probes);

// Contraction, flush-to-zero or a rounding mode other than nearest even is active: an Error. For the calling
// thread.
Status check_float_environment();

}  // namespace moe4
