// Speed of the reference at a slice of Kimi K3's w2 (I = 3072, top_k = 16), on all cores. Items are
// multiply-adds.
#include <benchmark/benchmark.h>

#include "reference/linear/mxfp4_expert_linear.h"
#include "tests/bench/random_data.h"

namespace moe4::bench {
namespace {

void norm(benchmark::State& state, Dtype dtype) {
  constexpr Sizes kSizes{4, 32, 3072, 8, 16};
  const LinearData data = linear_data(kSizes, dtype);
  Tensor output(dtype, {kSizes.tokens, kSizes.out});
  const ExpertLinearInputs inputs{data.latent_tokens.view(),   data.packed_weights.view(),
                                  data.scale_bytes.view(),     data.selected_experts.view(),
                                  data.mixture_weights.view(), data.shared_output.view()};
  for (auto _ : state) {
    const Status status = mxfp4_expert_linear(inputs, output.mutable_view());
    if (status) return state.SkipWithError(status->message().c_str());
  }
  state.SetItemsProcessed(state.iterations() * kSizes.multiply_adds());
}
BENCHMARK_CAPTURE(norm, bf16, Dtype::kBF16)
    ->Name("reference/norm/bf16")
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(norm, f32, Dtype::kF32)
    ->Name("reference/norm/f32")
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace moe4::bench
