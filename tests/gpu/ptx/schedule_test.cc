// Reproducibility: the schedule is a parameter, host threads are not; a race is found by happens-before under
// the default schedule, not by a lucky order.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/gpu/ptx/check_support.h"

namespace moe4::ptx::test {
namespace {

// A tree reduction over shared memory. Without the barrier of the loop it is wrong only under some orders.
Trial reduction(bool barrier) {
  return {kernel(".param .u64 out", std::string(R"(
.shared .align 4 .b8 tile[512];
mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mad.lo.u32 %r3, %r1, 4, %r2; add.u32 %r4, %r1, 1;
st.shared.u32 [%r3], %r4;
bar.sync 0;
mov.u32 %r5, 64;
LOOP:
setp.ge.u32 %p1, %r1, %r5; @%p1 bra SKIP;
mad.lo.u32 %r6, %r5, 4, %r3; ld.shared.u32 %r7, [%r6]; ld.shared.u32 %r8, [%r3]; add.u32 %r8, %r8, %r7;
st.shared.u32 [%r3], %r8;
SKIP:
)") + (barrier ? "bar.sync 0;\n" : "bar.warp.sync -1;\n") +
                                        R"(
shr.u32 %r5, %r5, 1; setp.ne.u32 %p2, %r5, 0; @%p2 bra LOOP;
setp.ne.u32 %p3, %r1, 0; @%p3 ret;
ld.shared.u32 %r9, [%r2]; mov.u32 %r10, %ctaid.x; mul.wide.u32 %rd1, %r10, 4; ld.param.u64 %rd2, [out]; add.u64 %rd2, %rd2, %rd1; st.global.u32 [%rd2], %r9;
ret;)"),
          {output("out", 4 * 6)},
          {6, 1, 1},
          {128, 1, 1}};
}

TEST(Schedule, RemovedBarrierIsCaughtUnderTheDefaultOrder) {
  const LaunchReport report = run(reduction(false));
  ASSERT_FALSE(report.findings.empty());
  for (const Finding& finding : report.findings)
    EXPECT_EQ(finding.check, Check::kSharedRace) << to_string(finding);
}

TEST(Schedule, TwinIsCleanForFiftySeeds) {
  const Module module = parse_valid(reduction(true).text);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Memory memory;
    const std::uint64_t out = memory.add_output("out", 24);
    Options options;
    options.schedule = seed;
    expect_clean(run(module, memory, {6, 1, 1}, {128, 1, 1}, Arguments().u64(out), options));
    EXPECT_EQ(read_all<std::uint32_t>(memory, out, 6), std::vector<std::uint32_t>(6, 128 * 129 / 2));
  }
}

TEST(Schedule, RemovedBarrierIsCaughtUnderEverySeed) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Trial trial = reduction(false);
    trial.options.schedule = seed;
    const LaunchReport report = run(trial);
    ASSERT_FALSE(report.findings.empty()) << seed;
    EXPECT_EQ(report.findings[0].check, Check::kSharedRace);
  }
}

void expect_same(const LaunchReport& a, const LaunchReport& b) {
  EXPECT_EQ(as_text(a), as_text(b));
  for (std::size_t i = 0; i < std::min(a.findings.size(), b.findings.size()); ++i)
    EXPECT_EQ(a.findings[i].count, b.findings[i].count);
  EXPECT_EQ(a.completed, b.completed);
  EXPECT_EQ(a.counters.warp_instructions, b.counters.warp_instructions);
  EXPECT_EQ(a.counters.thread_instructions, b.counters.thread_instructions);
  EXPECT_EQ(a.counters.global_load_bytes, b.counters.global_load_bytes);
  EXPECT_EQ(a.counters.global_store_bytes, b.counters.global_store_bytes);
  EXPECT_EQ(a.counters.shared_load_bytes, b.counters.shared_load_bytes);
  EXPECT_EQ(a.counters.shared_store_bytes, b.counters.shared_store_bytes);
  EXPECT_EQ(a.counters.shared_bank_conflicts, b.counters.shared_bank_conflicts);
  EXPECT_EQ(a.counters.barriers, b.counters.barriers);
}

TEST(Schedule, SameSeedSameReport) {
  for (const bool barrier : {true, false}) {
    Trial trial = reduction(barrier);
    trial.options.schedule = 7;
    expect_same(run(trial), run(trial));
  }
}

// Planted faults in several blocks, so that a report that depended on which host thread came first would
// differ.
TEST(Schedule, ReportsDoNotDependOnHostThreads) {
  const Trial faulty{kernel(".param .u64 out",
                            "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 64, %r1; "
                            "ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r3, 4; add.u64 %rd3, %rd1, %rd2;\n"
                            "rem.u32 %r4, %r2, 5; setp.eq.u32 %p1, %r4, 3;\nst.global.u32 [%rd3], %r1;\n@%p1 "
                            "ld.global.u32 %r5, [%rd3+65536];\n@%p1 st.global.u32 [%rd1], %r1;\nret;"),
                     {zeroed("out", 4 * 64 * 40)},
                     {40, 1, 1},
                     {64, 1, 1}};
  for (Trial trial : {faulty, reduction(false), reduction(true)})
    for (const bool seeded : {false, true}) {
      if (seeded) trial.options.schedule = 12345;
      trial.options.host_threads = 1;
      const LaunchReport first = run(trial);
      for (const int threads : {2, 5, 0}) {
        trial.options.host_threads = threads;
        expect_same(first, run(trial));
      }
    }
}

// Float atomics follow the schedule: the sum of one seed is one number, for every number of host threads.
TEST(Schedule, FloatAtomicsFollowTheSchedule) {
  const Module module =
      parse_valid(kernel(".param .u64 sum",
                         "mov.u32 %r1, %ctaid.x; add.u32 %r2, %r1, 1; cvt.rn.f32.u32 %f1, %r2; rcp.rn.f32 "
                         "%f1, %f1; ld.param.u64 %rd1, [sum]; red.global.add.f32 [%rd1], %f1;\nret;"));
  const auto sum = [&](std::optional<std::uint64_t> seed, int threads) {
    Memory memory;
    const std::uint64_t cell = memory.add_zeroed("sum", 4);
    Options options;
    options.schedule = seed;
    options.host_threads = threads;
    expect_clean(run(module, memory, {200, 1, 1}, {1, 1, 1}, Arguments().u64(cell), options));
    return read_all<std::uint32_t>(memory, cell, 1)[0];
  };
  std::set<std::uint32_t> different;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const std::uint32_t one = sum(seed, 1);
    EXPECT_EQ(one, sum(seed, 3));
    different.insert(one);
  }
  EXPECT_GT(different.size(), 1u);  // the seed does permute blocks
  EXPECT_EQ(sum({}, 1), sum({}, 4));
}

// The seed permutes the warps of a block too, and every order is a legal one.
TEST(Schedule, SeedsPermuteWarps) {
  const Module module =
      parse_valid(kernel(".param .u64 ticket, .param .u64 out",
                         "mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 31; setp.ne.u32 %p1, %r2, 0; @%p1 "
                         "ret;\nld.param.u64 %rd1, [ticket]; atom.global.add.u32 %r3, [%rd1], 1;\n"
                         "ld.param.u64 %rd2, [out]; shr.u32 %r4, %r1, 5; mul.wide.u32 %rd3, %r4, 4; add.u64 "
                         "%rd2, %rd2, %rd3; st.global.u32 [%rd2], %r3;\nret;"));
  std::set<std::vector<std::uint32_t>> orders;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Memory memory;
    const std::uint64_t ticket = memory.add_zeroed("ticket", 4), out = memory.add_output("out", 32);
    Options options;
    options.schedule = seed;
    expect_clean(run(module, memory, {1, 1, 1}, {256, 1, 1}, Arguments().u64(ticket).u64(out), options));
    auto order = read_all<std::uint32_t>(memory, out, 8);
    orders.insert(order);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  }
  EXPECT_GT(orders.size(), 3u);
}

TEST(Counters, CountInstructionsBytesAndConflicts) {
  const auto trial = [](const char* stride) {
    return Trial{kernel(".param .u64 in, .param .u64 out",
                        std::string(".shared .align 4 .b8 tile[4096];\nmov.u32 %r1, %tid.x; mov.u32 %r2, "
                                    "tile;\nmad.lo.u32 %r3, %r1, ") +
                            stride +
                            ", %r2;\nld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mul.wide.u32 %rd3, "
                            "%r1, 4; add.u64 %rd1, %rd1, %rd3; add.u64 %rd2, %rd2, %rd3;\n"
                            "ld.global.u32 %r4, [%rd1];\nst.shared.u32 [%r3], %r4;\nld.shared.u32 %r5, "
                            "[%r3];\nst.global.u32 [%rd2], %r5;\nret;"),
                 {input("in", 128), output("out", 128)}};
  };
  const LaunchReport plain = run(trial("4"));
  expect_clean(plain);
  EXPECT_EQ(plain.counters.warp_instructions, 13u);
  EXPECT_EQ(plain.counters.thread_instructions, 13u * 32);
  EXPECT_EQ(plain.counters.global_load_bytes, 128u);
  EXPECT_EQ(plain.counters.global_store_bytes, 128u);
  EXPECT_EQ(plain.counters.shared_load_bytes, 128u);
  EXPECT_EQ(plain.counters.shared_store_bytes, 128u);
  EXPECT_EQ(plain.counters.shared_bank_conflicts, 0u);
  EXPECT_EQ(run(trial("8")).counters.shared_bank_conflicts, 2u);     // two words a bank, store and load
  EXPECT_EQ(run(trial("128")).counters.shared_bank_conflicts, 62u);  // all lanes in one bank
  EXPECT_EQ(run(trial("0")).counters.shared_load_bytes, 128u);
}

}  // namespace
}  // namespace moe4::ptx::test
