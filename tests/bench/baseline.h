// What one would write first: each selected expert dequantised whole to FP32, then Eigen's FP32 product with
// its rows. The yardstick of reference_bench.cc; not exact.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/linear/expert_weights.h"

namespace moe4::bench {

struct BaselineRow {
  std::int64_t expert, token, target;
};

// sums [targets,O], from BF16 tokens [.,I]; contiguous tensors only. On all threads of OpenMP.
void baseline_rows(const Tensor& tokens, const ExpertWeights& weights, const std::vector<BaselineRow>& rows,
                   float* sums);

// y = shared + Σ_j p_j d_j in FP32, rounded to BF16, from the sums of T·K rows; rows [T,K] in that order.
void baseline_combine(const Tensor& mixture_weights, const Tensor& shared_output, const float* sums,
                      Tensor& output);

// FP32 to BF16, to nearest even.
void baseline_round(const float* sums, Tensor& output);

}  // namespace moe4::bench
