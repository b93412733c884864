// Numbers of a case in double, and exact outputs through the reference: for tests of what a fill promises.
#pragma once

#include <array>
#include <cmath>

#include "oracle/generate/store.h"
#include "reference/formats/float_format.h"
#include "reference/linear/mxfp4_expert_linear.h"
#include "tests/oracle/case_support.h"

namespace moe4::oracle {

inline ExactValue exact_at(const Tensor& tensor, std::int64_t index) {
  return decode_float(format_of(tensor.dtype()), load_float_bits(tensor, index));
}

// Exact for BF16, F16 and F32; NaN and Inf as themselves.
inline double value_at(const Tensor& tensor, std::int64_t index) {
  const ExactValue v = exact_at(tensor, index);
  if (v.cls == ValueClass::kNan) return NAN;
  const double magnitude =
      v.cls == ValueClass::kInf ? HUGE_VAL : std::ldexp(static_cast<double>(v.significand), v.exponent);
  return v.negative ? -magnitude : magnitude;
}

inline double weight_at(const CaseData& data, std::int64_t e, std::int64_t o, std::int64_t i) {
  constexpr std::array<double, 8> kValues = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  const unsigned scale = scale_at(data, e, o, i / 32);
  if (scale == 255) return NAN;
  const unsigned code = code_at(data, e, o, i);
  const double magnitude = kValues[code & 7] * std::ldexp(1.0, static_cast<int>(scale) - 127);
  return code & 8 ? -magnitude : magnitude;
}

// shared and then every p·w·x of output (t, o).
inline std::vector<double> terms_at(const CaseData& data, std::int64_t t, std::int64_t o) {
  const std::int64_t in = data.latent_tokens.dim(1);
  const std::int64_t top_k = data.selected_experts.dim(1);
  std::vector<double> terms = {value_at(data.shared_output, t * data.shared_output.dim(1) + o)};
  for (std::int64_t j = 0; j < top_k; ++j) {
    const std::int64_t e = load_id(data.selected_experts, t * top_k + j);
    const double p = value_at(data.mixture_weights, t * top_k + j);
    for (std::int64_t i = 0; i < in; ++i) {
      terms.push_back(p * weight_at(data, e, o, i) * value_at(data.latent_tokens, t * in + i));
    }
  }
  return terms;
}

inline double magnitude_of(const std::vector<double>& terms) {
  double sum = 0;
  for (const double term : terms) sum += std::fabs(term);
  return sum;
}

inline Tensor norm_of(const CaseData& data) {
  Tensor output(data.latent_tokens.dtype(), {data.latent_tokens.dim(0), data.shared_output.dim(1)});
  const Status status = mxfp4_expert_linear(data.inputs(), output.mutable_view(), data.policy);
  EXPECT_FALSE(status) << status->message();
  return output;
}

}  // namespace moe4::oracle
