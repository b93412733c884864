// What orders accesses and what does not: transitivity, sets of readers, locks, hand-over between blocks.
#include <gtest/gtest.h>

#include "tests/gpu/ptx/check_support.h"

namespace moe4::ptx::test {
namespace {

// Three warps; `warp` bodies are their parts, each with %r1 = thread, %r2 = tile, %r10 = lane, %r11 = own
// cell of another warp's row (so that several warps meet in one cell).
Trial three_warps(const std::string& first, const std::string& second, const std::string& third) {
  return {
      kernel(
          ".param .u64 out",
          ".shared .align 8 .b8 tile[256];\nmov.u32 %r1, %tid.x; mov.u32 %r2, tile; and.b32 %r10, %r1, 31; "
          "mad.lo.u32 %r11, %r10, 4, %r2;\n"
          "ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; mov.u32 %r20, 0;\n"
          "setp.lt.u32 %p1, %r1, 32; @%p1 bra FIRST; setp.lt.u32 %p1, %r1, 64; @%p1 bra SECOND;\n" +
              third + "\nbra JOIN;\nFIRST:\n" + first + "\nbra JOIN;\nSECOND:\n" + second +
              "\nJOIN:\nst.global.u32 [%rd3], %r20;\nret;"),
      {output("out", 4 * 96)},
      {1, 1, 1},
      {96, 1, 1}};
}

TEST(Order, IsTransitiveThroughNamedBarriers) {
  const auto make = [](const char* second_barrier) {
    return three_warps("st.shared.u32 [%r11], %r1;  // WRITE\nbar.sync 1, 64;",
                       std::string("bar.sync 1, 64;\n") + second_barrier,
                       std::string(second_barrier) + "\nld.shared.u32 %r20, [%r11];  // READ");
  };
  expect_clean(run(make("bar.sync 2, 64;")));
  const Trial trial = make("");
  expect_race(trial, run(trial), Check::kSharedRace, "WRITE", "READ");
}

// A cell read by two warps and overwritten by a third that is ordered with one of them only: every reader
// counts.
TEST(Order, EveryReaderCounts) {
  const std::string fill = "st.shared.u32 [%r11], 5;\nbar.sync 0;\n";
  const auto make = [&](const std::string& reader, const std::string& writer) {
    return three_warps(fill + "ld.shared.u32 %r20, [%r11];  // FIRST_READ\nbar.sync 1, 64;",
                       "bar.sync 0;\nld.shared.u32 %r20, [%r11];  // SECOND_READ\n" + reader,
                       "bar.sync 0;\nbar.sync 1, 64;\n" + writer + "st.shared.u32 [%r11], 6;  // OVERWRITE");
  };
  const Trial trial = make("", "");
  expect_race(trial, run(trial), Check::kSharedRace, "SECOND_READ", "OVERWRITE");
  expect_clean(run(make("bar.sync 2, 64;", "bar.sync 2, 64;\n")));
}

// The same with the roles of the readers changed, so that "last reader" cannot be the one that is right.
TEST(Order, EveryReaderCountsInEitherOrder) {
  const std::string fill = "st.shared.u32 [%r11], 5;\nbar.sync 0;\n";
  const auto make = [&](const std::string& reader, const std::string& writer) {
    return three_warps(fill + "ld.shared.u32 %r20, [%r11];  // FIRST_READ\n" + reader,
                       "bar.sync 0;\nld.shared.u32 %r20, [%r11];  // SECOND_READ\nbar.sync 1, 64;",
                       "bar.sync 0;\nbar.sync 1, 64;\n" + writer + "st.shared.u32 [%r11], 6;  // OVERWRITE");
  };
  const Trial trial = make("", "");
  expect_race(trial, run(trial), Check::kSharedRace, "FIRST_READ", "OVERWRITE");
  expect_clean(run(make("bar.sync 2, 64;", "bar.sync 2, 64;\n")));
}

TEST(Order, OverlapOfDifferentWidthsAndAddressKinds) {
  const auto make = [](const char* order) {
    return three_warps(
        std::string("setp.eq.u32 %p2, %r10, 0;\n@%p2 st.shared.u64 [%r2+8], 7;  // WRITE\n") + order,
        std::string(order) +
            "add.u32 %r12, %r2, 13; cvt.u64.u32 %rd5, %r12; cvta.shared.u64 %rd5, %rd5;\nld.u8 %r20, [%rd5]; "
            " // READ",
        order);
  };
  const Trial trial = make("");
  expect_race(trial, run(trial), Check::kSharedRace, "WRITE", "READ");
  expect_clean(run(make("bar.sync 0;\n")));
}

TEST(Order, PredicatedOffAccessesDoNotRace) {
  expect_clean(
      run(three_warps("setp.gt.u32 %p2, %r10, 99;\n@%p2 st.shared.u32 [%r11], 1;", "mov.u32 %r20, 0;",
                      "setp.gt.u32 %p2, %r10, 99;\n@%p2 ld.shared.u32 %r20, [%r11];")));
}

TEST(Order, ReducingBarriersOrderToo) {
  const auto make = [](const char* barrier) {
    return three_warps(std::string("st.shared.u32 [%r11], %r1;  // WRITE\n") + barrier, barrier,
                       std::string(barrier) + "\nld.shared.u32 %r20, [%r11];  // READ");
  };
  expect_clean(run(make("setp.eq.u32 %p3, %r1, 0; bar.red.popc.u32 %r15, 0, %p3;")));
  expect_clean(run(make("barrier.sync 0;")));
  expect_clean(run(make("barrier.cta.sync.aligned 0;")));
  const Trial trial = make("membar.cta;");
  expect_race(trial, run(trial), Check::kSharedRace, "WRITE", "READ");
}

// Warps that have returned do not hold up the others.
TEST(Order, ReturnedWarpsDoNotBlockABarrier) {
  const Trial trial =
      three_warps("st.shared.u32 [%r11], %r1;\nbar.sync 0;", "bar.sync 0;\nld.shared.u32 %r20, [%r11];",
                  "st.global.u32 [%rd3], 1;\nret;");
  expect_clean(run(trial));
}

// Lane 0 of each warp adds to a plain counter inside a lock.
Trial locked_counter(const std::string& lock, const std::string& unlock) {
  return {kernel(".param .u64 out",
                 ".shared .align 4 .u32 gate;\n.shared .align 4 .u32 counter;\nmov.u32 %r1, %tid.x; "
                 "ld.param.u64 %rd1, [out]; setp.ne.u32 %p1, %r1, 0;\n"
                 "@%p1 bra READY;\nst.shared.u32 [gate], 0; st.shared.u32 [counter], 0;\nREADY:\nbar.sync "
                 "0;\nand.b32 %r2, %r1, 31; setp.ne.u32 %p1, %r2, 0; @%p1 bra DONE;\nSPIN:\n" +
                     lock +
                     "\nsetp.ne.u32 %p2, %r3, 0; @%p2 bra SPIN;\nld.shared.u32 %r4, [counter];  // "
                     "READ\nadd.u32 %r4, %r4, 1;\nst.shared.u32 [counter], %r4;  // WRITE\n" +
                     unlock +
                     "\nDONE:\nbar.sync 0;\n@%p1 ret;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 ret;\nld.shared.u32 "
                     "%r5, [counter];\nst.global.u32 [%rd1], %r5;\nret;"),
          {output("out", 4)},
          {1, 1, 1},
          {256, 1, 1}};
}

TEST(Order, LocksWithAcquireAndRelease) {
  expect_clean(run(locked_counter("atom.acquire.cta.shared.cas.b32 %r3, [gate], 0, 1;",
                                  "atom.release.cta.shared.exch.b32 %r6, [gate], 0;")));
  expect_clean(run(locked_counter("atom.shared.cas.b32 %r3, [gate], 0, 1;\nmembar.cta;",
                                  "membar.cta;\natom.shared.exch.b32 %r6, [gate], 0;")));
}

TEST(Order, LockWithoutRelease) {
  const Trial trial = locked_counter("atom.acquire.cta.shared.cas.b32 %r3, [gate], 0, 1;",
                                     "atom.relaxed.cta.shared.exch.b32 %r6, [gate], 0;");
  const LaunchReport report = run(trial);
  ASSERT_FALSE(report.findings.empty());
  for (const Finding& finding : report.findings)
    EXPECT_EQ(finding.check, Check::kSharedRace) << to_string(finding);
}

// ---- blocks
// ----------------------------------------------------------------------------------------------------

// Each block leaves a number, then a grid barrier on an atomic counter, then each block reads its
// neighbour's.
Trial grid_barrier(const std::string& before, const std::string& after, std::uint32_t blocks) {
  return {kernel(".param .u64 counter, .param .u64 data, .param .u64 out",
                 "ld.param.u64 %rd1, [counter]; ld.param.u64 %rd2, [data]; ld.param.u64 %rd3, [out]; mov.u32 "
                 "%r1, %ctaid.x; mov.u32 %r2, %nctaid.x; mov.u32 %r9, %tid.x;\n"
                 "mul.wide.u32 %rd4, %r1, 4; add.u64 %rd5, %rd2, %rd4; add.u64 %rd6, %rd3, %rd4; setp.ne.u32 "
                 "%p1, %r9, 0; @%p1 bra WAITED;\n"
                 "mul.lo.u32 %r3, %r1, %r1; st.global.u32 [%rd5], %r3;  // DATA\n" +
                     before + "\nSPIN:\n" + after +
                     "\nsetp.lt.u32 %p2, %r4, %r2; @%p2 bra SPIN;\nWAITED:\nbar.sync 0;\n@%p1 ret;\n"
                     "add.u32 %r5, %r1, 1; rem.u32 %r5, %r5, %r2; mul.wide.u32 %rd7, %r5, 4; add.u64 %rd8, "
                     "%rd2, %rd7;\nld.global.u32 %r6, [%rd8];  // USE\nst.global.u32 [%rd6], %r6;\nret;"),
          {zeroed("counter", 4), zeroed("data", 4 * blocks), output("out", 4 * blocks)},
          {blocks, 1, 1},
          {64, 1, 1}};
}

TEST(Order, BlocksWaitForEachOther) {
  for (const int host_threads : {1, 3})
    for (const std::optional<std::uint64_t> seed :
         {std::optional<std::uint64_t>(), std::optional<std::uint64_t>(5), std::optional<std::uint64_t>(6)}) {
      Trial trial = grid_barrier("fence.acq_rel.gpu; red.relaxed.gpu.global.add.u32 [%rd1], 1;",
                                 "ld.acquire.gpu.global.u32 %r4, [%rd1];", 9);
      trial.options.host_threads = host_threads;
      trial.options.schedule = seed;
      trial.options.instruction_budget = 1000000;
      expect_clean(run(trial));
      trial.text = grid_barrier("atom.add.release.gpu.u32 %r4, [%rd1], 1;",
                                "ld.relaxed.gpu.global.u32 %r4, [%rd1]; fence.acq_rel.gpu;", 9)
                       .text;
      expect_clean(run(trial));
    }
}

TEST(Order, GridBarrierWithoutAFence) {
  const Trial trial =
      grid_barrier("red.relaxed.gpu.global.add.u32 [%rd1], 1;", "ld.acquire.gpu.global.u32 %r4, [%rd1];", 9);
  expect_race(trial, run(trial), Check::kGlobalRace, "DATA", "USE");
}

// The last block to arrive sums what all left.
Trial last_block(const char* release) {
  return {kernel(".param .u64 counter, .param .u64 data, .param .u64 out",
                 std::string("ld.param.u64 %rd1, [counter]; ld.param.u64 %rd2, [data]; ld.param.u64 %rd3, "
                             "[out]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x;\n"
                             "mul.wide.u32 %rd4, %r1, 4; add.u64 %rd5, %rd2, %rd4; add.u32 %r3, %r1, 1; "
                             "st.global.u32 [%rd5], %r3;  // PARTIAL\n") +
                     release +
                     "atom.global.inc.u32 %r4, [%rd1], 1000; sub.u32 %r5, %r2, 1; setp.ne.u32 %p1, %r4, %r5; "
                     "@%p1 ret;\nfence.acq_rel.gpu;\nmov.u32 %r6, 0; mov.u32 %r7, 0;\n"
                     "SUM:\nld.global.u32 %r8, [%rd2];  // GATHER\nadd.u32 %r6, %r6, %r8; add.u64 %rd2, "
                     "%rd2, 4; add.u32 %r7, %r7, 1; setp.lt.u32 %p2, %r7, %r2; @%p2 bra SUM;\nst.global.u32 "
                     "[%rd3], %r6;\nret;"),
          {zeroed("counter", 4), zeroed("data", 40), output("out", 4)},
          {10, 1, 1},
          {1, 1, 1}};
}

TEST(Order, LastBlockSums) {
  expect_clean(run(last_block("fence.acq_rel.gpu;\n")));
  expect_clean(run(last_block("membar.gl;\n")));
  const Trial trial = last_block("");
  expect_race(trial, run(trial), Check::kGlobalRace, "PARTIAL", "GATHER");
}

// A launch starts after the one before has ended: its blocks never race with those of the earlier launch.
TEST(Order, LaunchesFollowEachOther) {
  const Module module = parse_valid(
      module_header() +
      entry("fill", ".param .u64 a",
            "ld.param.u64 %rd1, [a]; mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, "
            "%rd2; st.global.u32 [%rd1], %r1;\nret;") +
      entry("turn", ".param .u64 a, .param .u64 b",
            "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x; "
            "sub.u32 %r3, %r2, %r1; sub.u32 %r3, %r3, 1;\n"
            "mul.wide.u32 %rd3, %r3, 4; add.u64 %rd3, %rd1, %rd3; ld.global.nc.u32 %r4, [%rd3]; mul.wide.u32 "
            "%rd4, %r1, 4; add.u64 %rd4, %rd2, %rd4; st.global.u32 [%rd4], %r4;\nret;"));
  Memory memory;
  const std::uint64_t a = memory.add_output("a", 20), b = memory.add_output("b", 20);
  expect_clean(run(module, memory, {5, 1, 1}, {1, 1, 1}, Arguments().u64(a), {}, 0, "fill"));
  expect_clean(run(module, memory, {5, 1, 1}, {1, 1, 1}, Arguments().u64(a).u64(b), {}, 0, "turn"));
  EXPECT_EQ(read_all<std::uint32_t>(memory, b, 5), (std::vector<std::uint32_t>{4, 3, 2, 1, 0}));
}

}  // namespace
}  // namespace moe4::ptx::test
