// A layer judged output by output on an exact fill: what each step costs (docs/bounds.md). One iteration is a
// whole call; items are outputs.
#include <benchmark/benchmark.h>

#include <stdexcept>

#include "oracle/case/norm.h"
#include "oracle/generate/generate.h"
#include "oracle/judge/verdict.h"

namespace moe4::bench {
namespace {

using namespace moe4::oracle;

constexpr const char* kLayers[] = {
    "op=indexed weights=int4 tokens=256 experts=48 top_k=8 in=7168 out=4096 dtype=bf16 fill=exact24 seed=5",
    "op=expert_linear weights=mxfp4 tokens=64 experts=32 top_k=16 in=3072 out=3584 dtype=bf16 fill=exact24 "
    "seed=5",
    "op=combine weights=mxfp4 tokens=64 experts=32 top_k=16 in=3072 out=3584 dtype=bf16 fill=real seed=5",
};

Case layer(const benchmark::State& state) { return *parse_case(kLayers[state.range(0)]); }

CaseData data_of(const Case& line) {
  Result<CaseData> data = generate(line);
  if (!data.ok()) throw std::runtime_error(data.error().message());
  return std::move(*data);
}

void generate_layer(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(data_of(layer(state)));
}
BENCHMARK(generate_layer)
    ->Arg(0)
    ->Arg(1)
    ->Arg(2)
    ->Iterations(1)
    ->Unit(benchmark::kSecond)
    ->MeasureProcessCPUTime();

void prove_layer(benchmark::State& state) {
  const CaseData data = data_of(layer(state));
  for (auto _ : state) benchmark::DoNotOptimize(prove_exact(data, 24));
}
BENCHMARK(prove_layer)->Arg(0)->Arg(1)->Iterations(1)->Unit(benchmark::kSecond)->MeasureProcessCPUTime();

void judge_layer(benchmark::State& state) {
  const CaseData data = data_of(layer(state));
  const Result<Norm> norm = fast_norm_result(data);
  Declaration declaration = make_reference_subject()->declaration();
  declaration.zero = ZeroCompare::kAny;
  SubjectRun run;
  run.output = norm->output;
  run.written = norm->written;
  for (auto _ : state) {
    const Verdict verdict = judge(data, declaration, run);
    state.SetItemsProcessed(verdict.outputs);
    if (verdict.status != VerdictStatus::kPassed) state.SkipWithError(verdict.reason.c_str());
  }
}
BENCHMARK(judge_layer)->Arg(0)->Arg(1)->Iterations(1)->Unit(benchmark::kSecond)->MeasureProcessCPUTime();

}  // namespace
}  // namespace moe4::bench
