#include "tests/bench/baseline.h"

#include <Eigen/Dense>
#include <algorithm>
#include <bit>
#include <cstring>

namespace moe4::bench {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

std::uint16_t to_bf16(float value) {
  std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  bits += 0x7FFF + ((bits >> 16) & 1);
  return static_cast<std::uint16_t>(bits >> 16);
}

void dequantise(const ExpertWeights& weights, std::int64_t expert, Matrix& w) {
  static constexpr float kE2M1[16] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0F, -0.5, -1, -1.5, -2, -3, -4, -6};
  const bool mxfp4 = weights.format == WeightFormat::kMxfp4;
  const std::int64_t out = w.rows();
  const std::int64_t groups = w.cols() / 32;
  const auto* const codes = static_cast<const std::uint8_t*>(weights.packed_weights.data);
#pragma omp parallel for schedule(static)
  for (std::int64_t o = 0; o < out; ++o) {
    float* const row = w.row(o).data();
    for (std::int64_t g = 0; g < groups; ++g) {
      const std::int64_t at = (expert * out + o) * groups + g;
      if (mxfp4) {
        const std::uint8_t s = static_cast<const std::uint8_t*>(weights.scales.data)[at];
        const float scale = std::bit_cast<float>(std::max<std::uint32_t>(s, 1) << 23);
        for (int b = 0; b < 16; ++b) {
          row[32 * g + 2 * b] = kE2M1[codes[16 * at + b] & 15] * scale;
          row[32 * g + 2 * b + 1] = kE2M1[codes[16 * at + b] >> 4] * scale;
        }
      } else {
        const float scale = from_bf16(static_cast<const std::uint16_t*>(weights.scales.data)[at]);
        for (int b = 0; b < 16; ++b) {
          const float low = static_cast<float>((codes[16 * at + b] & 15) - 8) * scale;
          const float high = static_cast<float>((codes[16 * at + b] >> 4) - 8) * scale;
          row[32 * g + 2 * b] = from_bf16(to_bf16(low));
          row[32 * g + 2 * b + 1] = from_bf16(to_bf16(high));
        }
      }
    }
  }
}

}  // namespace

void baseline_rows(const Tensor& tokens, const ExpertWeights& weights, const std::vector<BaselineRow>& rows,
                   float* sums) {
  const std::int64_t in = tokens.shape().back();
  const std::int64_t out = weights.packed_weights.dim(1);
  std::vector<BaselineRow> sorted = rows;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.expert < b.expert; });
  Matrix w(out, in);
  for (std::size_t begin = 0; begin < sorted.size();) {
    std::size_t end = begin;
    while (end < sorted.size() && sorted[end].expert == sorted[begin].expert) ++end;
    dequantise(weights, sorted[begin].expert, w);
    Matrix x(end - begin, in);
    for (std::size_t n = begin; n < end; ++n) {
      for (std::int64_t i = 0; i < in; ++i) {
        x(static_cast<std::int64_t>(n - begin), i) =
            from_bf16(tokens.as<std::uint16_t>()[sorted[n].token * in + i]);
      }
    }
    const Matrix y = x * w.transpose();
    for (std::size_t n = begin; n < end; ++n) {
      std::memcpy(sums + sorted[n].target * out, y.row(static_cast<std::int64_t>(n - begin)).data(),
                  static_cast<std::size_t>(out) * sizeof(float));
    }
    begin = end;
  }
}

void baseline_combine(const Tensor& mixture_weights, const Tensor& shared_output, const float* sums,
                      Tensor& output) {
  const std::int64_t tokens = output.dim(0);
  const std::int64_t out = output.dim(1);
  const std::int64_t top_k = mixture_weights.dim(1);
#pragma omp parallel for schedule(static)
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t o = 0; o < out; ++o) {
      float y = from_bf16(shared_output.as<std::uint16_t>()[t * out + o]);
      for (std::int64_t j = 0; j < top_k; ++j) {
        const float product = mixture_weights.as<float>()[t * top_k + j] * sums[(t * top_k + j) * out + o];
        y = y + product;
      }
      output.as<std::uint16_t>()[t * out + o] = to_bf16(y);
    }
  }
}

void baseline_round(const float* sums, Tensor& output) {
#pragma omp parallel for schedule(static)
  for (std::int64_t k = 0; k < output.elements(); ++k) output.as<std::uint16_t>()[k] = to_bf16(sums[k]);
}

}  // namespace moe4::bench
