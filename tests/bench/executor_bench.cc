// Speed of the PTX executor on one core, (a): an FP32 FMA loop, checks off and on.
#include <benchmark/benchmark.h>

#include <cstring>
#include <string>

#include "gpu/ptx/ptx.h"

namespace moe4::bench {
namespace {

constexpr std::uint32_t kBlocks = 8, kThreads = 256, kTrips = 500;

// 16 dependent fma a trip in four chains, then the loop's own three instructions; one store a thread at the
// end.
std::string fma_loop() {
  std::string body;
  for (int n = 0; n < 16; ++n) {
    const std::string chain = "%f" + std::to_string(1 + n % 4);
    body += "  fma.rn.f32 " + chain + ", " + chain + ", %f5, %f6;\n";
  }
  return R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry fma_loop(.param .u64 out, .param .u32 trips)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .f32 %f<8>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [trips];
  cvta.to.global.u64 %rd1, %rd1;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  mul.wide.u32 %rd2, %r5, 4;
  add.s64 %rd1, %rd1, %rd2;
  cvt.rn.f32.u32 %f1, %r4;
  mov.f32 %f2, %f1;
  mov.f32 %f3, %f1;
  mov.f32 %f4, %f1;
  mov.f32 %f5, 0f3F7FFF00;
  mov.f32 %f6, 0f3A800000;
LOOP:
)" + body +
         R"(
  add.s32 %r1, %r1, -1;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra LOOP;
  add.rn.f32 %f1, %f1, %f2;
  add.rn.f32 %f3, %f3, %f4;
  add.rn.f32 %f1, %f1, %f3;
  st.global.f32 [%rd1], %f1;
  ret;
}
)";
}

void ExecutorFmaLoop(benchmark::State& state) {
  ptx::Error error;
  const auto module = ptx::Module::parse(fma_loop(), "fma_loop", &error);
  if (!module) return state.SkipWithError(error.message.c_str());
  ptx::Memory memory;
  const std::uint64_t out = memory.add_output("out", 4 * kBlocks * kThreads);
  ptx::Launch launch;
  launch.entry = "fma_loop";
  launch.grid.x = kBlocks;
  launch.block.x = kThreads;
  launch.parameters.resize(12);
  std::memcpy(launch.parameters.data(), &out, 8);
  std::memcpy(launch.parameters.data() + 8, &kTrips, 4);
  ptx::Options options;
  options.checks = state.range(0) != 0;
  options.host_threads = 1;
  std::uint64_t instructions = 0;
  for (auto _ : state) {
    const ptx::LaunchReport report = ptx::launch(*module, memory, launch, options);
    if (report.error || !report.completed || !report.findings.empty()) {
      return state.SkipWithError(report.error ? report.error->message.c_str() : "the loop did not run clean");
    }
    instructions += report.counters.thread_instructions;
  }
  state.counters["thread_instructions_per_s"] =
      benchmark::Counter(static_cast<double>(instructions), benchmark::Counter::kIsRate);
}
BENCHMARK(ExecutorFmaLoop)
    ->Name("executor/fma_loop")
    ->ArgName("checks")
    ->Arg(0)
    ->Arg(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace moe4::bench
