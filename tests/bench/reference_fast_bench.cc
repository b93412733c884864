// Speed and memory of the fast path, beside the obvious baseline in the same run, on all cores. One line a
// shape: Time is the fast path's, `baseline_s` the baseline's, `ratio` the quotient, `aim` what it should be
// at least; `cpu_s` and `cpu_ratio` are the same in CPU seconds of all threads. `extra_MiB` is the growth of
// the peak resident set during one call; the counters say how outputs were proved.
#include <benchmark/benchmark.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "reference/fast/fast.h"
#include "reference/routing/align_blocks.h"
#include "tests/bench/baseline.h"
#include "tests/bench/random_data.h"

namespace moe4::bench {
namespace {

// Of one call: on the wall, and of all threads. On a busy machine only the second means something.
struct Seconds {
  double wall = 1e30;
  double cpu = 1e30;
};

Seconds seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t cpu_start = std::clock();
  work();
  const std::clock_t cpu = std::clock() - cpu_start;
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
          static_cast<double>(cpu) / CLOCKS_PER_SEC};
}

void keep_least(Seconds& least, const Seconds& other) {
  least.wall = std::min(least.wall, other.wall);
  least.cpu = std::min(least.cpu, other.cpu);
}

// From /proc/self/status, in MiB; 0 where there is none.
double memory(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kib = 0;
    if (word == field + ":" && status >> kib) return kib / 1024;
  }
  return 0;
}

// The growth of the peak resident set during `work`.
double extra_memory(const std::function<void()>& work) {
#ifdef __GLIBC__
  malloc_trim(0);  // what earlier work has freed is no room for this one
#endif
  std::ofstream("/proc/self/clear_refs") << "5";
  const double before = memory("VmRSS");
  work();
  return memory("VmHWM") - before;
}

// Seconds of PyTorch's FP32 products alone, one for each expert with the mean of its rows; 0 if it is not
// installed.
double torch_seconds(std::int64_t experts, std::int64_t rows, std::int64_t in, std::int64_t out) {
  const std::string command = "python3 " MOE4_SOURCE_DIR "/tests/bench/torch_product.py " +
                              std::to_string(experts) + " " +
                              std::to_string(std::max<std::int64_t>(rows / experts, 1)) + " " +
                              std::to_string(in) + " " + std::to_string(out) + " 2>/dev/null";
  double result = 0;
  if (std::FILE* pipe = popen(command.c_str(), "r")) {
    if (std::fscanf(pipe, "%lf", &result) != 1) result = 0;
    pclose(pipe);
  }
  return result;
}

// The least of a few runs, fast and baseline in turn.
struct Pair {
  Seconds fast;
  Seconds baseline;
};
Pair time_both(int runs, const std::function<void()>& fast, const std::function<void()>& baseline) {
  Pair best;
  for (int run = 0; run < runs; ++run) {
    keep_least(best.fast, seconds(fast));
    keep_least(best.baseline, seconds(baseline));
  }
  return best;
}

// The calls' experts that have rows, their rows, I and O.
struct Work {
  std::int64_t experts, rows, in, out;
};

void report(benchmark::State& state, const Pair& best, double aim, double extra, const fast::Counters& used,
            const Work& work) {
  const std::int64_t products = work.rows * work.in * work.out;
  const std::int64_t weights = work.experts * work.in * work.out;
  for (auto _ : state) state.SetIterationTime(best.fast.wall);
  state.counters["baseline_s"] = best.baseline.wall;
  state.counters["ratio"] = best.baseline.wall / best.fast.wall;
  state.counters["cpu_s"] = best.fast.cpu;
  state.counters["cpu_ratio"] = best.baseline.cpu / best.fast.cpu;
  if (aim > 0) state.counters["aim"] = aim;
  state.counters["extra_MiB"] = extra;
  if (extra > 128) state.SkipWithError("more than 128 MiB beside inputs and outputs");
  state.counters["GMAC/s"] = static_cast<double>(products) / best.fast.wall * 1e-9;
  state.counters["weights_G/s"] = static_cast<double>(weights) / best.fast.wall * 1e-9;
  state.counters["certified"] = static_cast<double>(used.certified);
  state.counters["certified_f32"] = static_cast<double>(used.certified_f32);
  state.counters["rounding_test"] = static_cast<double>(used.rounding_test);
  const double torch = torch_seconds(work.experts, work.rows, work.in, work.out);
  if (torch > 0) {
    state.counters["torch_product_s"] = torch;
    state.counters["torch_ratio"] = torch / best.fast.wall;
  } else {
    state.SetLabel("PyTorch is not installed");
  }
  state.counters["exact"] = static_cast<double>(used.exact);
}

// Words of codes, quickly; BF16 scales between 2^-9 and 2^-5 of either sign, with full mantissas.
Tensor random_words(Dtype dtype, Shape shape, std::uint64_t seed) {
  Tensor tensor(dtype, std::move(shape));
  auto* const words = reinterpret_cast<std::uint64_t*>(tensor.data());
  for (std::size_t k = 0; k < tensor.bytes() / 8; ++k) words[k] = mix(seed + k);
  return tensor;
}
Tensor bf16_scales(Shape shape, int binades, std::uint64_t seed) {
  Tensor tensor(Dtype::kBF16, std::move(shape));
  for (std::uint16_t& s : tensor.as<std::uint16_t>()) {
    const std::uint64_t r = mix(++seed);
    s = static_cast<std::uint16_t>((r & 0x807F) | (118 + (r >> 20) % static_cast<std::uint64_t>(binades))
                                                      << 7);
  }
  return tensor;
}
// Sums of twelve uniforms, cut to BF16.
Tensor gaussians(Shape shape, std::uint64_t seed) {
  Tensor tensor(Dtype::kBF16, std::move(shape));
  for (std::uint16_t& x : tensor.as<std::uint16_t>()) {
    double sum = -6;
    for (int k = 0; k < 3; ++k) {
      const std::uint64_t r = mix(++seed);
      for (int part = 0; part < 64; part += 16) sum += static_cast<double>((r >> part) & 0xFFFF) / 65536.0;
    }
    const auto value = static_cast<float>(sum);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, 4);
    x = static_cast<std::uint16_t>(bits >> 16);
  }
  return tensor;
}
Tensor signs(Shape shape, std::uint64_t seed) {  // -1, 0, 1
  Tensor tensor(Dtype::kBF16, std::move(shape));
  constexpr std::uint16_t kValues[] = {0xBF80, 0, 0x3F80};
  for (std::uint16_t& x : tensor.as<std::uint16_t>()) x = kValues[mix(++seed) % 3];
  return tensor;
}

void k3_down(benchmark::State& state) {
  constexpr Sizes kSizes{64, 32, 3072, 3584, 8};
  LinearData data = linear_data(kSizes, Dtype::kBF16);
  data.latent_tokens = gaussians({kSizes.tokens, kSizes.in}, 7);
  const ExpertWeights weights = ExpertWeights::mxfp4(data.packed_weights.view(), data.scale_bytes.view());
  const LinearInputs inputs{data.latent_tokens.view(), weights, data.selected_experts.view(),
                            data.mixture_weights.view(), data.shared_output.view()};
  std::vector<BaselineRow> rows;
  for (std::int64_t n = 0; n < kSizes.tokens * kSizes.top_k; ++n) {
    rows.push_back(
        {data.selected_experts.as<std::int32_t>()[static_cast<std::size_t>(n)], n / kSizes.top_k, n});
  }
  Tensor output(Dtype::kBF16, {kSizes.tokens, kSizes.out});
  fast::Counters used;
  const auto fast = [&] { fast::expert_linear(inputs, output.mutable_view()); };
  const double extra = extra_memory([&] { fast::expert_linear(inputs, output.mutable_view(), {}, &used); });
  std::vector<float> sums(rows.size() * static_cast<std::size_t>(kSizes.out));
  const auto baseline = [&] {
    baseline_rows(data.latent_tokens, weights, rows, sums.data());
    baseline_combine(data.mixture_weights, data.shared_output, sums.data(), output);
  };
  report(state, time_both(3, fast, baseline), 2, extra, used,
         {kSizes.experts, kSizes.tokens * kSizes.top_k, kSizes.in, kSizes.out});
}
BENCHMARK(k3_down)
    ->Name("reference/fast/k3_down")
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

void k2_decode(benchmark::State& state) {
  constexpr std::int64_t kTokens = 20, kTopK = 8, kExperts = 48, kIn = 7168, kOut = 4096, kBlockM = 16;
  const Tensor tokens = gaussians({kTokens, kIn}, 1);
  const Tensor packed = random_words(Dtype::kI32, {kExperts, kOut, kIn / 8}, 2);
  const Tensor scales = bf16_scales({kExperts, kOut, kIn / 32}, 4, 3);
  const ExpertWeights weights = ExpertWeights::int4(packed.view(), scales.view());
  Routes routes{kTokens, kTopK, {}};
  std::vector<BaselineRow> rows;
  std::vector<bool> hit(kExperts, false);
  for (std::int64_t n = 0; n < kTokens * kTopK; ++n) {
    const auto expert = static_cast<std::int32_t>(mix(static_cast<std::uint64_t>(99 + n)) % kExperts);
    routes.expert.push_back(expert);
    rows.push_back({expert, n / kTopK, n});
    hit[static_cast<std::size_t>(expert)] = true;
  }
  const AlignedRoutes aligned = align_blocks(routes, kExperts, kBlockM);
  const IndexedInputs inputs{tokens.view(),
                             weights,
                             aligned.sorted_ids_view(),
                             aligned.expert_ids_view(),
                             aligned.num_tokens_padded_view(),
                             kTopK,
                             kBlockM};
  Tensor output(Dtype::kBF16, {kTokens * kTopK, kOut});
  fast::Counters used;
  const double extra = extra_memory([&] { (void)fast::indexed(inputs, output.mutable_view(), {}, &used); });
  std::vector<float> sums(rows.size() * kOut);
  const Pair best = time_both(
      2, [&] { (void)fast::indexed(inputs, output.mutable_view()); },
      [&] {
        baseline_rows(tokens, weights, rows, sums.data());
        baseline_round(sums.data(), output);
      });
  report(state, best, 5, extra, used, {std::count(hit.begin(), hit.end(), true), kTokens * kTopK, kIn, kOut});
}
BENCHMARK(k2_decode)
    ->Name("reference/fast/k2_decode")
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// Rows of `experts` experts in runs, 2048 in all or `rows` each.
struct Prefill {
  Prefill(Tensor x, std::int64_t experts, std::int64_t in, std::int64_t out, int binades)
      : tokens(std::move(x)),
        packed(random_words(Dtype::kI32, {experts, out, in / 8}, 2)),
        scales(bf16_scales({experts, out, in / 32}, binades, 3)),
        m_indices(Dtype::kI32, {tokens.dim(0)}),
        output(Dtype::kBF16, {tokens.dim(0), out}) {
    for (std::int64_t r = 0; r < tokens.dim(0); ++r) {
      const auto expert = static_cast<std::int32_t>(r * experts / tokens.dim(0));
      m_indices.as<std::int32_t>()[static_cast<std::size_t>(r)] = expert;
      rows.push_back({expert, r, r});
    }
  }
  ExpertWeights weights() const { return ExpertWeights::int4(packed.view(), scales.view()); }
  void fast(fast::Counters* counters = nullptr) {
    (void)fast::grouped_contiguous({tokens.view(), weights(), m_indices.view()}, output.mutable_view(), {},
                                   counters);
  }
  Work work() const { return {packed.dim(0), tokens.dim(0), tokens.dim(1), output.dim(1)}; }

  Tensor tokens, packed, scales, m_indices, output;
  std::vector<BaselineRow> rows;
};

void k2_prefill(benchmark::State& state) {
  Prefill call(gaussians({2048, 7168}, 1), 8, 7168, 4096, 4);
  fast::Counters used;
  const double extra = extra_memory([&] { call.fast(&used); });
  std::vector<float> sums(static_cast<std::size_t>(call.output.elements()));
  const Pair best = time_both(
      1, [&] { call.fast(); },
      [&] {
        baseline_rows(call.tokens, call.weights(), call.rows, sums.data());
        baseline_round(sums.data(), call.output);
      });
  report(state, best, 1, extra, used, call.work());
}
BENCHMARK(k2_prefill)
    ->Name("reference/fast/k2_prefill")
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// An exact fill: every FP32 sum is exact in any order, so the baseline's bits are due, and are compared.
void k2_prefill_exact(benchmark::State& state) {
  Prefill call(signs({2048, 7168}, 1), 48, 7168, 4096, 1);
  fast::Counters used;
  const double extra = extra_memory([&] { call.fast(&used); });
  const Tensor norm = call.output;
  std::vector<float> sums(static_cast<std::size_t>(call.output.elements()));
  std::int64_t unequal = 0;
  const Pair best = time_both(
      1,
      [&] {
        call.fast();
        unequal += std::memcmp(norm.data(), call.output.data(), norm.bytes()) != 0;
      },
      [&] {
        baseline_rows(call.tokens, call.weights(), call.rows, sums.data());
        baseline_round(sums.data(), call.output);
      });
  for (std::int64_t k = 0; k < norm.elements(); ++k) {
    unequal += norm.as<std::uint16_t>()[static_cast<std::size_t>(k)] !=
               call.output.as<std::uint16_t>()[static_cast<std::size_t>(k)];
  }
  report(state, best, 0, extra, used, call.work());
  state.counters["unequal"] = static_cast<double>(unequal);
  if (unequal != 0) state.SkipWithError("the exact fill's outputs differ from the FP32 product's");
}
BENCHMARK(k2_prefill_exact)
    ->Name("reference/fast/k2_prefill_exact")
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// d log(time) / d log(size) over four times the size.
void exponent(benchmark::State& state, bool in_rows) {
  const auto time_of = [&](std::int64_t factor) {
    const std::int64_t rows = in_rows ? 64 * factor : 64;
    const std::int64_t out = in_rows ? 1024 : 1024 * factor;
    Prefill call(gaussians({rows, 4096}, 1), 1, 4096, out, 4);
    Seconds best;
    for (int run = 0; run < 4; ++run) keep_least(best, seconds([&] { call.fast(); }));
    return best;
  };
  const Seconds small = time_of(1);
  const Seconds large = time_of(4);
  for (auto _ : state) state.SetIterationTime(large.wall);
  state.counters["exponent"] = std::log2(large.wall / small.wall) / 2;
  state.counters["cpu_exponent"] = std::log2(large.cpu / small.cpu) / 2;
}
BENCHMARK_CAPTURE(exponent, rows, true)
    ->Name("reference/fast/exponent_in_rows")
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(exponent, weights, false)
    ->Name("reference/fast/exponent_in_weights")
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace moe4::bench
