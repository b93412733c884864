// Every kernel variant on the executor at a slice of Kimi K3's w2 (I = 3072, top_k = 16), on all cores. Items
// are multiply-adds; with checks a launch runs under both patterns of unwritten memory, as the gate runs it.
#include <benchmark/benchmark.h>

#include <string>

#include "gpu/launch/variant.h"
#include "tests/bench/random_data.h"

namespace moe4::bench {
namespace {

constexpr Sizes kSizes{4, 32, 3072, 64, 16};

std::span<const std::byte> bytes_of(const Tensor& tensor) { return {tensor.data(), tensor.bytes()}; }

void kernel_on_executor(benchmark::State& state, const gpu::Variant& variant) {
  const Dtype dtype = variant.dtype == "bf16" ? Dtype::kBF16 : Dtype::kF32;
  const LinearData data = linear_data(kSizes, dtype);
  const auto device = gpu::make_executor_device();
  gpu::TensorBuffers buffers;
  buffers["latent_tokens"] = device->add_input("latent_tokens", bytes_of(data.latent_tokens));
  buffers["packed_weights"] = device->add_input("packed_weights", bytes_of(data.packed_weights));
  buffers["scale_bytes"] = device->add_input("scale_bytes", bytes_of(data.scale_bytes));
  buffers["selected_experts"] = device->add_input("selected_experts", bytes_of(data.selected_experts));
  buffers["mixture_weights"] = device->add_input("mixture_weights", bytes_of(data.mixture_weights));
  buffers["shared_output"] = device->add_input("shared_output", bytes_of(data.shared_output));
  buffers["output"] = device->add_output("output", data.shared_output.bytes());
  const auto launch =
      variant.plan(variant, {kSizes.tokens, kSizes.experts, kSizes.in, kSizes.out, kSizes.top_k}, buffers);
  gpu::LaunchSettings settings;
  settings.checks = state.range(0) != 0;

  double instructions = 0;
  for (auto _ : state) {
    const gpu::LaunchOutcome outcome = device->launch(*launch, settings);
    if (outcome.error || !outcome.completed || !outcome.findings.empty()) {
      return state.SkipWithError(outcome.error.value_or("the kernel did not run clean").c_str());
    }
    instructions = static_cast<double>(outcome.counters.thread_instructions);
  }
  const auto multiply_adds = static_cast<double>(kSizes.multiply_adds());
  const double runs = settings.checks ? 2 : 1;
  state.SetItemsProcessed(state.iterations() * kSizes.multiply_adds());
  state.counters["instructions_per_madd"] = instructions / multiply_adds;
  state.counters["thread_instructions_per_s"] = benchmark::Counter(
      instructions * runs * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

const bool kRegistered = [] {
  for (const gpu::Variant& variant : gpu::variants()) {
    if (variant.ptx.empty() || variant.op != "expert_linear") continue;
    benchmark::RegisterBenchmark(("Kernel/" + std::string(variant.name)).c_str(), kernel_on_executor, variant)
        ->ArgName("checks")
        ->Arg(0)
        ->Arg(1)
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  }
  return true;
}();

}  // namespace
}  // namespace moe4::bench
