// Waits are no ordinary instructions that a schedule happens not to need: every barrier, wait, fence,
// arrival, expect_tx and commit of three pipelines is taken out in turn, and each time the report is another
// one.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "gpu/ptx/mutate/mutant.h"
#include "gpu/ptx/uninitialized.h"
#include "tests/gpu/ptx/bulk_pipeline.h"
#include "tests/gpu/ptx/compiled_gemm.h"

namespace moe4::ptx::test {
namespace {

constexpr std::uint64_t kBudget = 400000;  // warp instructions; the right kernels take a few thousand

// What a run tells: the kinds of its findings, and how many outputs are wrong.
struct Told {
  std::set<std::string> findings;
  int wrong = 0;
  bool clean() const { return findings.empty() && wrong == 0; }
};

Told told(const LaunchReport& report, int wrong) {
  Told result;
  result.wrong = wrong;
  if (report.error) result.findings.insert(report.error->message);
  for (const Finding& finding : report.findings) result.findings.insert(std::string(name_of(finding.check)));
  return result;
}

struct Pipeline {
  std::string name, text, entry;
  std::function<Told(const std::string& text, std::uint64_t seed)> run;
  // Statements that may go: each with the reason. By the text of the statement.
  std::map<std::string, std::string> idle;
};

Told run_gemm(const std::string& entry, std::uint32_t k, const std::string& text, std::uint64_t seed) {
  const Outcome outcome = multiply(text, {entry, 64, 1, k}, seed, true, kBudget);
  return told(outcome.report, outcome.wrong);
}

Told run_bulk(const std::string& text, std::uint64_t seed) {
  const Module module = parse_valid(text);
  std::vector<std::uint32_t> in(6 * 32), want(32);
  for (std::uint32_t i = 0; i < in.size(); ++i) want[i % 32] += in[i] = i * 2654435761u;
  Memory memory;
  Launch launch;
  launch.entry = "kernel";
  launch.block.x = 64;
  const std::uint64_t a = memory.add_input("in", std::as_bytes(std::span(in))),
                      out = memory.add_output("out", 128);
  launch.parameters = Arguments().u64(a).u64(out).bytes();
  Options options;
  options.instruction_budget = kBudget;
  if (seed != 0) options.schedule = seed;
  const LaunchReport report = launch_checked(module, memory, launch, options);
  const auto got = read_all<std::uint32_t>(memory, out, 32);
  int wrong = 0;
  for (std::size_t i = 0; i < 32; ++i) wrong += got[i] != want[i];
  return told(report, wrong);
}

std::vector<Pipeline> pipelines() {
  return {{"cp.async and mma.sync",
           gemm_text(),
           "mma_64",
           [](const std::string& text, std::uint64_t seed) { return run_gemm("mma_64", 256, text, seed); },
           {}},
          {"bulk copies and mbarriers", pipeline_text(), "kernel", &run_bulk, {}},
          {"TMA and wgmma",
           gemm_text(),
           "wgmma_64",
           [](const std::string& text, std::uint64_t seed) { return run_gemm("wgmma_64", 448, text, seed); },
           {}}};
}

bool synchronises(Mutation kind) {
  constexpr Mutation kinds[] = {Mutation::kBarrier, Mutation::kFence,    Mutation::kArrive,
                                Mutation::kWait,    Mutation::kExpectTx, Mutation::kCommit};
  return std::find(std::begin(kinds), std::end(kinds), kind) != std::end(kinds);
}

TEST(Deletion, EveryStepOfAPipelineChangesTheReport) {
  for (const Pipeline& pipeline : pipelines()) {
    SCOPED_TRACE(pipeline.name);
    const Told right = pipeline.run(pipeline.text, 0);
    ASSERT_TRUE(right.clean()) << (right.findings.empty() ? "" : *right.findings.begin());
    Error error;
    const auto mutants = mutants_of(pipeline.text, pipeline.entry, &error);
    ASSERT_TRUE(mutants.has_value()) << error.message;
    int deleted = 0;
    std::set<std::string> idle;
    for (const Mutant& mutant : *mutants) {
      if (!synchronises(mutant.kind)) continue;
      ++deleted;
      bool seen = false;
      for (std::uint64_t seed = 0; seed < 4 && !seen; ++seed) {
        seen = !pipeline.run(mutated(pipeline.text, mutant), seed).clean();
      }
      if (seen) continue;
      idle.insert(mutant.before);
      EXPECT_TRUE(pipeline.idle.contains(mutant.before)) << "nothing changes without " << diff(mutant);
    }
    EXPECT_GE(deleted, 5);
    for (const auto& [statement, reason] : pipeline.idle) {
      EXPECT_TRUE(idle.contains(statement)) << statement << " matters after all; it was said: " << reason;
    }
  }
}

}  // namespace
}  // namespace moe4::ptx::test
