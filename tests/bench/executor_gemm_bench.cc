// Speed of the PTX executor on matrix products that nvcc compiled (tests/gpu/ptx/compiled/gemm.cu), on one
// core, with the step model of Hopper: (b) cp.async + ldmatrix + mma.sync, a tile of 64 × 64; (c) TMA +
// mbarrier + wgmma, a tile of 64 × 256. I = 7168. arithmetic:0 leaves the
// tensor core's step out: what is left is the executor.
#include <benchmark/benchmark.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include "gpu/ptx/ptx.h"
#include "gpu/ptx/tensor_map.h"
#include "reference/accumulate/tensor_core.h"

namespace moe4::bench {
namespace {

constexpr std::uint32_t kDepth = 7168, kRows = 64;

void multiply_add(const void* context, const ptx::TensorTile& tile) {
  const Dtype operands = tile.type == ptx::TensorType::kF16 ? Dtype::kF16 : Dtype::kBF16;
  tensor_core_tile(*static_cast<const TensorCore*>(context), operands,
                   {tile.rows, tile.columns, tile.k, tile.a, tile.b, tile.d});
}

// Arithmetic that costs nothing: what is left is the executor.
void nothing(const void*, const ptx::TensorTile&) {}

std::string gemm_text() {
  std::ifstream file(MOE4_SOURCE_DIR "/tests/gpu/ptx/compiled/gemm_sm_90a.ptx");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void executor_gemm(benchmark::State& state, const char* entry, std::uint32_t columns) {
  const bool tensor = columns == 256;
  ptx::Error error;
  const auto module = ptx::Module::parse(gemm_text(), "gemm", &error);
  if (!module) return state.SkipWithError(error.message.c_str());
  std::vector<std::uint16_t> a(kRows * kDepth), b(std::size_t{columns} * kDepth);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<std::uint16_t>(0x3f80 + i * 7 % 128);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<std::uint16_t>(0xbf80 - i * 5 % 128);
  ptx::Memory memory;
  ptx::TensorMap maps[2];
  maps[0].address = memory.add_input("a", std::as_bytes(std::span(a)));
  maps[1].address = memory.add_input("b", std::as_bytes(std::span(b)));
  const std::uint64_t out = memory.add_output("out", std::uint64_t{4} * kRows * columns);
  std::vector<std::byte> parameters;
  const auto put = [&](const void* from, std::size_t bytes) {
    const auto* begin = static_cast<const std::byte*>(from);
    parameters.insert(parameters.end(), begin, begin + bytes);
  };
  for (ptx::TensorMap& map : maps) {
    const std::uint32_t rows = &map == maps ? kRows : columns;
    map.dims = {kDepth, rows};
    map.strides = {2, kDepth * 2};
    map.box = {64, rows};
    map.swizzle = ptx::Swizzle::k128B;
    if (tensor) put(ptx::encode(map).data(), ptx::kTensorMapBytes);
    if (!tensor) put(&map.address, 8);
  }
  put(&out, 8);
  put(&kDepth, 4);
  ptx::TensorCore core{"hopper", state.range(1) != 0 ? &multiply_add : &nothing, tensor_core("hopper")};
  ptx::Launch launch;
  launch.entry = entry;
  launch.block.x = tensor ? 160 : 128;
  launch.dynamic_shared_bytes = tensor ? 3 * (kRows + columns) * 128 : 0;
  launch.parameters = parameters;
  ptx::Options options;
  options.checks = state.range(0) != 0;
  options.host_threads = 1;
  options.tensor_core = &core;
  std::uint64_t products = 0, instructions = 0;
  for (auto _ : state) {
    const ptx::LaunchReport report = ptx::launch(*module, memory, launch, options);
    if (report.error || !report.completed || !report.findings.empty()) {
      return state.SkipWithError(report.error ? report.error->message.c_str()
                                              : "the product did not run clean");
    }
    products += report.counters.tensor_multiply_adds;
    instructions += report.counters.thread_instructions;
  }
  const auto rate = [](std::uint64_t count) {
    return benchmark::Counter(static_cast<double>(count), benchmark::Counter::kIsRate);
  };
  state.counters["thread_instructions_per_s"] = rate(instructions);
  state.counters["multiply_adds_per_s"] = rate(products);
}

void ExecutorMmaSync(benchmark::State& state) { executor_gemm(state, "mma_64", 64); }
void ExecutorWgmma(benchmark::State& state) { executor_gemm(state, "wgmma_256", 256); }
BENCHMARK(ExecutorMmaSync)
    ->Name("executor/mma_sync_64x64")
    ->ArgNames({"checks", "arithmetic"})
    ->ArgsProduct({{0, 1}, {0, 1}})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(ExecutorWgmma)
    ->Name("executor/tma_wgmma_64x256")
    ->ArgNames({"checks", "arithmetic"})
    ->ArgsProduct({{0, 1}, {0, 1}})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace moe4::bench
