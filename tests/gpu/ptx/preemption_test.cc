// Blocks that communicate, stopped anywhere by a seed: what depends on a block running through shows.
#include <gtest/gtest.h>

#include "tests/gpu/ptx/check_support.h"

namespace moe4::ptx::test {
namespace {

constexpr std::uint32_t kBlocks = 5;

// One row of sums over the blocks. body: how a block adds its own %r3 to [%rd5], of which each thread has
// one.
std::string reduce_text(const std::string& body) {
  return kernel(".param .u64 turn, .param .u64 sums", R"(
ld.param.u64 %rd1, [turn]; ld.param.u64 %rd2, [sums]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
mul.wide.u32 %rd4, %r1, 4; add.u64 %rd5, %rd2, %rd4; setp.ne.u32 %p1, %r1, 0;
mad.lo.u32 %r3, %r2, 100, %r1; add.u32 %r3, %r3, 1;
)" + body + "\nret;");
}

// Stream-K's fix-up: the blocks add in turn, one semaphore hands the tile on.
std::string in_turn(const std::string& release) {
  return reduce_text(R"(
@%p1 bra MINE;
SPIN: ld.acquire.gpu.global.u32 %r4, [%rd1]; setp.ne.u32 %p2, %r4, %r2; @%p2 bra SPIN;
MINE:
bar.sync 0;
ld.global.u32 %r5, [%rd5]; add.u32 %r5, %r5, %r3; st.global.u32 [%rd5], %r5;  // SUM
bar.sync 0;
add.u32 %r6, %r2, 1;
)" + release);
}

struct Outcome {
  LaunchReport report;
  std::vector<std::uint32_t> sums;
};

Outcome reduce(const Module& module, std::optional<std::uint64_t> seed) {
  Memory memory;
  const std::uint64_t turn = memory.add_zeroed("turn", 4), sums = memory.add_zeroed("sums", 4 * 64);
  Options options;
  options.schedule = seed;
  options.instruction_budget = 1000000;
  Outcome outcome;
  outcome.report = run(module, memory, {kBlocks, 1, 1}, {64, 1, 1}, Arguments().u64(turn).u64(sums), options);
  outcome.sums = read_all<std::uint32_t>(memory, sums, 64);
  return outcome;
}

std::vector<std::uint32_t> right_sums() {
  std::vector<std::uint32_t> sums(64);
  for (std::uint32_t block = 0; block < kBlocks; ++block) {
    for (std::uint32_t i = 0; i < 64; ++i) sums[i] += block * 100 + i + 1;
  }
  return sums;
}

TEST(Preemption, TheRightReductionsHoldUnder200Seeds) {
  for (const auto& [text, last] :
       {std::pair(in_turn("@!%p1 st.release.gpu.global.u32 [%rd1], %r6;"), 200u),
        std::pair(in_turn("@!%p1 fence.acq_rel.gpu;\n@!%p1 red.relaxed.gpu.global.add.u32 [%rd1], 1;"), 20u),
        std::pair(reduce_text("red.relaxed.gpu.global.add.u32 [%rd5], %r3;"), 20u)}) {
    const Module module = parse_valid(text);
    for (std::uint64_t seed = 0; seed <= last; ++seed) {
      const Outcome outcome = reduce(module, seed == 0 ? std::nullopt : std::optional(seed));
      expect_clean(outcome.report);
      ASSERT_EQ(outcome.sums, right_sums()) << seed;
    }
  }
}

// Relaxed accesses never race, so that only the values tell that another block came between.
TEST(Preemption, ALostUpdateShowsWithin20Seeds) {
  const Module module =
      parse_valid(reduce_text("ld.relaxed.gpu.global.u32 %r5, [%rd5]; add.u32 %r5, %r5, %r3; "
                              "st.relaxed.gpu.global.u32 [%rd5], %r5;"));
  EXPECT_EQ(reduce(module, std::nullopt).sums, right_sums()) << "blocks that run through lose nothing";
  int wrong = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Outcome outcome = reduce(module, seed);
    EXPECT_TRUE(outcome.report.findings.empty()) << describe(outcome.report);
    wrong += outcome.sums != right_sums();
  }
  EXPECT_GE(wrong, 5);
}

// … and a tile handed on before it is written, or without a fence.
TEST(Preemption, AHandOverWithoutOrderIsFound) {
  for (const char* release : {"@!%p1 st.relaxed.gpu.global.u32 [%rd1], %r6;",
                              "@!%p1 fence.acq_rel.cta;\n@!%p1 st.relaxed.gpu.global.u32 [%rd1], %r6;"}) {
    const Module module = parse_valid(in_turn(release));
    for (std::uint64_t seed = 0; seed <= 20; ++seed) {
      const Outcome outcome = reduce(module, seed == 0 ? std::nullopt : std::optional(seed));
      ASSERT_FALSE(outcome.report.findings.empty()) << seed;
      EXPECT_EQ(outcome.report.findings[0].check, Check::kGlobalRace) << describe(outcome.report);
    }
  }
}

// The same seed gives the same run, and all blocks that wait for nothing are a deadlock, not a hang.
TEST(Preemption, IsRepeatableAndEndsInADeadlock) {
  const Module module = parse_valid(in_turn("@!%p1 st.release.gpu.global.u32 [%rd1], %r6;"));
  EXPECT_EQ(reduce(module, 7).report.path_hash, reduce(module, 7).report.path_hash);
  Trial stuck{in_turn(""), {zeroed("turn", 4), zeroed("sums", 256)}, {kBlocks, 1, 1}, {64, 1, 1}};
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    if (seed != 0) stuck.options.schedule = seed;
    const LaunchReport report = run(stuck);
    ASSERT_EQ(report.findings.size(), 1u) << describe(report);
    EXPECT_EQ(report.findings[0].check, Check::kBarrierDeadlock);
  }
}

}  // namespace
}  // namespace moe4::ptx::test
