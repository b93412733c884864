// Schedules at length: kernels whose blocks wait for each other, any number of them; a seed is a run, host
// threads are not; a barrier that is missing shows in the values within 20 seeds even where no check looks,
// and a right kernel is right under 200.
#include <gtest/gtest.h>

#include <bit>
#include <set>

#include "tests/gpu/ptx/check_support.h"

namespace moe4::ptx::test {
namespace {

constexpr const char* kPreamble =
    "ld.param.u64 %rd1, [state]; ld.param.u64 %rd2, [data]; ld.param.u64 %rd3, [out]; mov.u32 %r1, %ctaid.x; "
    "mov.u32 %r2, %nctaid.x;\nmul.wide.u32 %rd4, %r1, 4; add.u64 %rd5, %rd1, %rd4; add.u64 %rd6, %rd2, %rd4; "
    "add.u64 %rd7, %rd3, %rd4;\n";

std::string blocks_kernel(const std::string& body) {
  return kernel(".param .u64 state, .param .u64 data, .param .u64 out", kPreamble + body);
}

// Block b waits for block b + 1 and passes on what it got, so that all blocks wait at once and the last one
// begins: out[b] is the sum of the numbers from b on.
std::string chain() {
  return blocks_kernel(
      "mov.u32 %r3, 0; add.u32 %r4, %r1, 1; setp.eq.u32 %p1, %r4, %r2; @%p1 bra LAST;\n"
      "SPIN:\nld.acquire.gpu.global.u32 %r5, [%rd5+4]; setp.eq.u32 %p2, %r5, 0; @%p2 bra SPIN;  // WAIT\n"
      "ld.global.u32 %r3, [%rd6+4];\nLAST:\nadd.u32 %r3, %r3, %r1; st.global.u32 [%rd6], %r3; st.global.u32 "
      "[%rd7], %r3;\nmov.u32 %r6, 1; st.release.gpu.global.u32 [%rd5], %r6;\nret;");
}

// A semaphore: block b adds 1 / (b + 1) when it is its turn, as stream-K kernels add partial sums. The order
// of the FP32 sum is fixed, whatever runs when; out[b] is the sum up to b.
std::string semaphore(bool waits) {
  return blocks_kernel(
      std::string("add.u32 %r4, %r1, 1; cvt.rn.f32.u32 %f1, %r4; rcp.rn.f32 %f1, %f1;\nSPIN:\n"
                  "ld.acquire.gpu.global.u32 %r5, [%rd1];\n") +
      (waits ? "setp.ne.u32 %p2, %r5, %r1; @%p2 bra SPIN;\n" : "") +
      "ld.global.f32 %f2, [%rd2]; add.rn.f32 %f2, %f2, %f1; st.global.f32 [%rd2], %f2; st.global.f32 [%rd7], "
      "%f2;\nst.release.gpu.global.u32 [%rd1], %r4;\nret;");
}

// All blocks meet at a counter, then each takes its neighbour's number.
std::string grid_barrier() {
  return blocks_kernel(
      "mul.lo.u32 %r3, %r1, %r1; st.global.u32 [%rd6], %r3;\natom.add.acq_rel.gpu.global.u32 %r4, [%rd1], "
      "1;\nSPIN:\nld.acquire.gpu.global.u32 %r5, [%rd1]; setp.lt.u32 %p2, %r5, %r2; @%p2 bra SPIN;\n"
      "add.u32 %r6, %r1, 1; rem.u32 %r6, %r6, %r2; mul.wide.u32 %rd8, %r6, 4; add.u64 %rd8, %rd2, %rd8;\n"
      "ld.global.u32 %r7, [%rd8]; st.global.u32 [%rd7], %r7;\nret;");
}

struct Ran {
  LaunchReport report;
  std::vector<std::uint32_t> out;
};

Ran run_blocks(const Module& module, std::uint32_t blocks, std::optional<std::uint64_t> seed = {},
               int host_threads = 1) {
  Memory memory;
  Arguments arguments;
  for (const char* name : {"state", "data"}) arguments.u64(memory.add_zeroed(name, 4 * (blocks + 1)));
  const std::uint64_t out = memory.add_output("out", 4 * blocks);
  arguments.u64(out);
  Options options;
  options.schedule = seed;
  options.host_threads = host_threads;
  options.instruction_budget = 20'000'000;
  Ran ran;
  ran.report = run(module, memory, {blocks, 1, 1}, {1, 1, 1}, arguments, options);
  ran.out = read_all<std::uint32_t>(memory, out, blocks);
  return ran;
}

void expect_same(const Ran& a, const Ran& b) {
  EXPECT_EQ(a.out, b.out);
  EXPECT_EQ(as_text(a.report), as_text(b.report));
  EXPECT_EQ(a.report.path_hash, b.report.path_hash);
  EXPECT_EQ(a.report.completed, b.report.completed);
  EXPECT_EQ(a.report.counters.warp_instructions, b.report.counters.warp_instructions);
  EXPECT_EQ(a.report.counters.global_load_bytes, b.report.counters.global_load_bytes);
}

TEST(ScheduleBlocks, AnyNumberOfBlocksMayWaitForEachOther) {
  const Module waits = parse_valid(chain()), meets = parse_valid(grid_barrier()),
               turns = parse_valid(semaphore(true));
  for (const std::uint32_t blocks : {1u, 2u, 17u, 133u}) {
    for (const std::optional<std::uint64_t> seed : {std::optional<std::uint64_t>(), {9}}) {
      SCOPED_TRACE(testing::Message() << blocks << " blocks, " << (seed ? "seed 9" : "default"));
      Ran ran = run_blocks(waits, blocks, seed);
      expect_clean(ran.report);
      for (std::uint32_t b = 0; b < blocks; ++b) {
        ASSERT_EQ(ran.out[b], blocks * (blocks - 1) / 2 - b * (b - 1) / 2);
      }
      ran = run_blocks(meets, blocks, seed);
      expect_clean(ran.report);
      for (std::uint32_t b = 0; b < blocks; ++b) ASSERT_EQ(ran.out[b], (b + 1) % blocks * ((b + 1) % blocks));
      ran = run_blocks(turns, blocks, seed);
      expect_clean(ran.report);
      float sum = 0;
      for (std::uint32_t b = 0; b < blocks; ++b) {
        const float term = 1.0f / static_cast<float>(b + 1);
        sum = sum + term;
        ASSERT_EQ(ran.out[b], std::bit_cast<std::uint32_t>(sum));
      }
    }
  }
}

TEST(ScheduleBlocks, RightUnderTwoHundredSeeds) {
  const Module modules[] = {parse_valid(chain()), parse_valid(grid_barrier()), parse_valid(semaphore(true))};
  for (const Module& module : modules) {
    const Ran first = run_blocks(module, 5);
    std::set<std::uint64_t> lengths;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      const Ran ran = run_blocks(module, 5, seed);
      expect_clean(ran.report);
      ASSERT_EQ(ran.out, first.out) << seed;
      lengths.insert(ran.report.counters.warp_instructions);
    }
    EXPECT_GT(lengths.size(), 1u);  // the seeds are not one run: spins take as long as they take
  }
}

TEST(ScheduleBlocks, ASeedIsARunAndHostThreadsAreNot) {
  for (const std::string& text : {chain(), grid_barrier(), semaphore(true), semaphore(false)}) {
    const Module module = parse_valid(text);
    for (const std::optional<std::uint64_t> seed : {std::optional<std::uint64_t>(), {0}, {77}, {~0ull}}) {
      const Ran one = run_blocks(module, 40, seed, 1);
      expect_same(one, run_blocks(module, 40, seed, 1));
      expect_same(one, run_blocks(module, 40, seed, 2));
    }
  }
}

// Without the wait the order of the sum is the schedule's, and so is the sum. No finding is due: each block
// that ran saw what the block before it had released.
TEST(ScheduleBlocks, ASemaphoreThatNobodyWaitsForFailsWithinTwentySeeds) {
  const Module module = parse_valid(semaphore(false));
  const Ran right = run_blocks(parse_valid(semaphore(true)), 5);
  int wrong = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) wrong += run_blocks(module, 5, seed).out != right.out;
  EXPECT_GT(wrong, 0);
}

// Four warps reverse an array in shared memory, twice; each of the three barriers matters.
std::string reverse_twice(int missing) {
  const auto barrier = [&](int n) { return n == missing ? "" : "bar.sync 0;\n"; };
  return kernel(
      ".param .u64 in, .param .u64 out",
      std::string(".shared .align 4 .b8 tile[512];\nmov.u32 %r1, %tid.x; mov.u32 %r2, tile; shl.b32 %r3, "
                  "%r1, 2; add.u32 %r4, %r2, %r3; xor.b32 %r5, %r3, 508; add.u32 %r5, %r2, %r5;\n"
                  "cvt.u64.u32 %rd3, %r3; ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; add.u64 "
                  "%rd1, %rd1, %rd3; add.u64 %rd2, %rd2, %rd3;\n"
                  "ld.global.u32 %r6, [%rd1]; st.shared.u32 [%r4], %r6;\n") +
          barrier(0) + "ld.shared.u32 %r7, [%r5]; add.u32 %r7, %r7, %r1;\n" + barrier(1) +
          "st.shared.u32 [%r4], %r7;\n" + barrier(2) +
          "ld.shared.u32 %r8, [%r5]; st.global.u32 [%rd2], %r8;\nret;");
}

std::vector<std::uint32_t> reversed(int missing, std::uint64_t seed, bool checks, LaunchReport* report) {
  std::vector<std::uint32_t> in(128);
  for (std::uint32_t i = 0; i < 128; ++i) in[i] = i * 2654435761u;
  Memory memory;
  const std::uint64_t from = memory.add_input("in", std::as_bytes(std::span(in))),
                      to = memory.add_output("out", 512);
  Options options;
  options.schedule = seed;
  options.checks = checks;
  options.host_threads = 1;
  *report = run(parse_valid(reverse_twice(missing)), memory, {1, 1, 1}, {128, 1, 1},
                Arguments().u64(from).u64(to), options);
  return read_all<std::uint32_t>(memory, to, 128);
}

TEST(ScheduleBlocks, AMissingBarrierFailsWithinTwentySeedsByItsValues) {
  std::vector<std::uint32_t> want(128);
  for (std::uint32_t i = 0; i < 128; ++i) want[i] = i * 2654435761u + (127 - i);
  LaunchReport report;
  for (int missing = 0; missing < 3; ++missing) {
    int wrong = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      wrong += reversed(missing, seed, false, &report) != want;
      reversed(missing, seed, true, &report);
      ASSERT_FALSE(report.findings.empty()) << "barrier " << missing << " seed " << seed;
      EXPECT_EQ(report.findings[0].check, Check::kSharedRace);
    }
    EXPECT_GT(wrong, 0) << "barrier " << missing;
  }
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    ASSERT_EQ(reversed(-1, seed, true, &report), want) << seed;
    expect_clean(report);
  }
}

}  // namespace
}  // namespace moe4::ptx::test
