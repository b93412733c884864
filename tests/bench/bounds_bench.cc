// How tight the proved intervals are, and what they cost: Gaussian INT4 rows at the width of Kimi K2, one
// contract row an output. The counters are the table of docs/bounds.md; items are multiply-adds.
#include <benchmark/benchmark.h>

#include <cmath>

#include "reference/bound/bounds.h"
#include "tests/bench/random_data.h"

namespace moe4::bench {
namespace {

constexpr std::int64_t kIn = 7168;
constexpr std::int64_t kOut = 256;
constexpr std::int64_t kRows = 8;

double uniform(std::uint64_t& counter) {
  return std::ldexp(static_cast<double>(mix(++counter) >> 11) + 0.5, -53);
}

double gauss(std::uint64_t& counter) {
  const double radius = std::sqrt(-2 * std::log(uniform(counter)));
  return radius * std::cos(6.283185307179586 * uniform(counter));
}

// To BF16, cut: the distribution is all that matters.
std::uint16_t bf16(double value) {
  const auto narrow = static_cast<float>(value);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &narrow, 4);
  return static_cast<std::uint16_t>(bits >> 16);
}

// Gaussian weights quantised by absolute maximum over 7, as a checkpoint's are.
struct Rows {
  Tensor tokens{Dtype::kBF16, {kRows, kIn}};
  Tensor words{Dtype::kI32, {1, kOut, kIn / 8}};
  Tensor scales{Dtype::kBF16, {1, kOut, kIn / 32}};
  Tensor m_indices{Dtype::kI32, {kRows}};

  Rows() {
    std::uint64_t counter = 1;
    for (std::uint16_t& x : tokens.as<std::uint16_t>()) x = bf16(gauss(counter));
    for (std::int64_t group = 0; group < kOut * kIn / 32; ++group) {
      double weights[32];
      double largest = 0;
      for (double& w : weights) {
        w = 0.02 * gauss(counter);
        largest = std::max(largest, std::fabs(w));
      }
      const double scale = largest / 7;
      scales.as<std::uint16_t>()[static_cast<std::size_t>(group)] = bf16(scale);
      for (std::int64_t k = 0; k < 32; ++k) {
        const auto q = static_cast<std::int64_t>(std::lround(weights[k] / scale));
        const auto code =
            static_cast<std::uint32_t>(std::min<std::int64_t>(7, std::max<std::int64_t>(-8, q)) + 8);
        auto& word = words.as<std::int32_t>()[static_cast<std::size_t>(group * 4 + k / 8)];
        word = static_cast<std::int32_t>(static_cast<std::uint32_t>(word) | code << (4 * (k % 8)));
      }
    }
  }

  GroupedContiguousInputs inputs() const {
    return {tokens.view(), ExpertWeights::int4(words.view(), scales.view()), m_indices.view()};
  }
};

void Bounds(benchmark::State& state, const char* accumulation, const char* order) {
  static const Rows rows;
  Arithmetic arithmetic;
  arithmetic.order = parse_order(order).value();
  arithmetic.accumulation = parse_accumulation(accumulation).value();
  double singletons = 0;
  for (auto _ : state) {
    const auto bounds = grouped_contiguous_bounds(rows.inputs(), {}, arithmetic);
    if (!bounds.ok()) return state.SkipWithError(bounds.error().message().c_str());
    singletons = bounds->singleton_share;
  }
  state.counters["singletons_%"] = 100 * singletons;
  state.SetItemsProcessed(state.iterations() * kRows * kIn * kOut);
}

#define MOE4_BOUNDS(name, accumulation, order) \
  BENCHMARK_CAPTURE(Bounds, name, accumulation, order)->UseRealTime()->Unit(benchmark::kMillisecond)
MOE4_BOUNDS(f32_seq, "f32_sequential", "seq");
MOE4_BOUNDS(f32_warps2, "f32_sequential", "warps(64,2)+tree");
MOE4_BOUNDS(f32_warps4, "f32_sequential", "warps(64,4)+tree");
MOE4_BOUNDS(f32_lanes32x8, "f32_sequential", "lanes(32,8)+shfl");
MOE4_BOUNDS(f32_any, "f32_sequential", "any");
MOE4_BOUNDS(ampere_seq, "ampere", "seq");
MOE4_BOUNDS(ampere_warps2, "ampere", "warps(64,2)+tree");
MOE4_BOUNDS(hopper_seq, "hopper", "seq");
MOE4_BOUNDS(hopper_warps2, "hopper", "warps(64,2)+tree");
MOE4_BOUNDS(hopper_warps4, "hopper", "warps(64,4)+tree");
MOE4_BOUNDS(hopper_streamk2, "hopper", "streamk(2)*warps(64,4)+tree");
MOE4_BOUNDS(hopper_any, "hopper", "any");

}  // namespace
}  // namespace moe4::bench
