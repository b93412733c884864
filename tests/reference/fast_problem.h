// Data that drives the fast path into each of its proofs, for all operations and both weight formats.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string_view>

#include "reference/fast/fast.h"
#include "tests/reference/adversarial_data.h"
#include "tests/reference/problem.h"
#include "tests/reference/routing_problem.h"

namespace moe4::test {

enum class Hard {
  kGauss,       // everything is certified
  kIntegers,    // small enough for FP32; many ties
  kWide,        // scales and tokens over many binades: the rounding test
  kWideCancel,  // the same, and every row cancels but for a little: the exact accumulator
  kWideTies,    // the same, and every row is a tie
  kZero,        // zeros of both signs
  kNonFinite,   // NaN and infinities among tokens and scales
  kExtreme,     // the largest and the smallest numbers
};
inline constexpr std::array kAllHard = {Hard::kGauss,    Hard::kIntegers, Hard::kWide,      Hard::kWideCancel,
                                        Hard::kWideTies, Hard::kZero,     Hard::kNonFinite, Hard::kExtreme};

inline std::string_view name_of(Hard kind) {
  constexpr std::array<std::string_view, 8> kNames = {"gauss",     "integers", "wide",       "wide_cancel",
                                                      "wide_ties", "zero",     "non_finite", "extreme"};
  return kNames[static_cast<std::size_t>(kind)];
}

// Tokens of any dtype, weights of either format, and slots for expert_linear and combine.
struct HardSet {
  WeightFormat format;
  Tensor tokens, packed_weights, scales, selected_experts, mixture_weights, shared_output;

  ExpertWeights weights() const {
    return format == WeightFormat::kMxfp4 ? ExpertWeights::mxfp4(packed_weights.view(), scales.view())
                                          : ExpertWeights::int4(packed_weights.view(), scales.view());
  }
  LinearInputs linear() const {
    return {tokens.view(), weights(), selected_experts.view(), mixture_weights.view(), shared_output.view()};
  }
};

HardSet hard_set(Hard kind, WeightFormat format, const DataSizes& n, std::uint64_t seed);

// The same shape and the same bytes, filled with `pattern` before, so that what is not written is compared
// too.
Tensor patterned(Dtype dtype, const Shape& shape);
void expect_same_bytes(const Tensor& norm, const Tensor& fast, const std::string& what);

// Both, on the same inputs: the bytes agree; returns what the fast path counted.
fast::Counters expect_same_expert_linear(const LinearInputs& inputs, const Policy& policy,
                                         const std::string& what);

}  // namespace moe4::test
