// Planted races in global memory, decided by happens-before; each twin has the missing order.
#include <gtest/gtest.h>

#include "tests/gpu/ptx/check_support.h"

namespace moe4::ptx::test {
namespace {

Trial in_global(const std::string& body, std::uint32_t blocks, std::uint32_t threads) {
  return {kernel(".param .u64 out, .param .u64 other",
                 "ld.param.u64 %rd1, [out]; ld.param.u64 %rd5, [other]; mov.u32 %r1, %tid.x; mov.u32 %r2, "
                 "%ctaid.x; mov.u32 %r3, %ntid.x;\n"
                 "mad.lo.u32 %r4, %r2, %r3, %r1; mul.wide.u32 %rd2, %r4, 4; add.u64 %rd3, %rd1, %rd2; "
                 "mul.wide.u32 %rd4, %r2, 4; add.u64 %rd4, %rd1, %rd4; setp.eq.u32 %p1, %r1, 0;\n" +
                     body + "\nret;"),
          {zeroed("out", 4096), zeroed("other", 4096)},
          {blocks, 1, 1},
          {threads, 1, 1}};
}

TEST(GlobalRace, TwoBlocksWriteOneCell) {
  const Trial trial = in_global("@%p1 st.global.u32 [%rd1], %r2;  // WRITE", 4, 32);
  const Finding finding = expect_race(trial, run(trial), Check::kGlobalRace, "// WRITE", "// WRITE");
  EXPECT_FALSE(finding.place.block == finding.other->block);
  EXPECT_NE(finding.message.find("out"), std::string::npos) << finding.message;
  expect_clean(run(in_global("@%p1 st.global.u32 [%rd4], %r2;", 4, 32)));
}

TEST(GlobalRace, OneBlockReadsWhatAnotherWrites) {
  const Trial trial = in_global(
      "@%p1 st.global.u32 [%rd4], %r2;  // WRITE\nld.global.u32 %r5, [%rd1];  // READ\nst.global.u32 [%rd5], "
      "%r5;",
      2, 1);
  const LaunchReport report = run(trial);
  bool seen = false;
  for (const Finding& finding : report.findings)
    seen |= finding.check == Check::kGlobalRace && finding.other &&
            finding.place.ptx_line != finding.other->ptx_line;
  EXPECT_TRUE(seen) << describe(report);
  expect_clean(
      run(in_global("@%p1 st.global.u32 [%rd4], %r2;\nld.global.u32 %r5, [%rd4];\nadd.u64 %rd6, %rd4, "
                    "2048;\nst.global.u32 [%rd6], %r5;",
                    2, 1)));
}

TEST(GlobalRace, AtomicsBetweenBlocks) {
  expect_clean(run(in_global("red.global.add.u32 [%rd1], 1;", 8, 64)));
  const Trial trial = in_global(
      "@%p1 bra PLAIN;\nred.global.add.u32 [%rd1], 1;  // ATOMIC\nret;\nPLAIN:\nsetp.ne.u32 %p2, %r2, "
      "0;\n@%p2 ret;\nst.global.u32 [%rd1], 7;  // STORE",
      8, 64);
  expect_race(trial, run(trial), Check::kGlobalRace, "ATOMIC", "// STORE");
}

TEST(GlobalRace, WarpsOfOneBlock) {
  const auto make = [](const char* order) {
    return in_global(
        std::string("st.global.u32 [%rd3], %r1;  // WRITE\n") + order +
            "sub.u32 %r5, 63, %r1;\nmul.wide.u32 %rd6, %r5, 4;\nadd.u64 %rd7, %rd1, %rd6;\nld.global.u32 "
            "%r6, [%rd7];  // READ\nadd.u64 %rd8, %rd3, 1024;\nst.global.u32 [%rd8], %r6;",
        1, 64);
  };
  const Trial trial = make("");
  expect_race(trial, run(trial), Check::kGlobalRace, "WRITE", "READ");
  expect_clean(run(make("bar.sync 0;\n")));
}

TEST(GlobalRace, LanesOfOneWarp) {
  const auto make = [](const char* order) {
    return in_global(
        std::string("st.global.u32 [%rd3], %r1;  // WRITE\n") + order +
            "xor.b32 %r5, %r1, 1;\nmul.wide.u32 %rd6, %r5, 4;\nadd.u64 %rd7, %rd1, %rd6;\nld.global.u32 %r6, "
            "[%rd7];  // READ\nadd.u64 %rd8, %rd3, 1024;\nst.global.u32 [%rd8], %r6;",
        1, 32);
  };
  const Trial trial = make("");
  expect_race(trial, run(trial), Check::kGlobalRace, "WRITE", "READ");
  expect_clean(run(make("bar.warp.sync -1;\n")));
}

// The usual hand-over between blocks: data, fence, flag; spin on the flag, fence, data.
Trial hand_over(const char* publish, const char* observe) {
  return in_global(
      std::string("setp.eq.u32 %p2, %r2, 0;\n@!%p2 bra CONSUMER;\nst.global.u32 [%rd1+64], 42;  // DATA\n") +
          publish + "ret;\nCONSUMER:\nSPIN:\n" + observe +
          "setp.eq.u32 %p3, %r5, 0;\n@%p3 bra SPIN;\nld.global.u32 %r6, [%rd1+64];  // USE\nst.global.u32 "
          "[%rd1+128], %r6;",
      2, 1);
}

TEST(GlobalRace, ReleaseAndAcquireOrderBlocks) {
  expect_clean(run(hand_over("fence.acq_rel.gpu;\nred.relaxed.gpu.global.add.u32 [%rd5], 1;\n",
                             "ld.acquire.gpu.global.u32 %r5, [%rd5];\n")));
  expect_clean(
      run(hand_over("st.release.gpu.global.u32 [%rd5], 1;\n", "ld.acquire.gpu.global.u32 %r5, [%rd5];\n")));
  expect_clean(run(hand_over("membar.gl;\natom.global.exch.b32 %r7, [%rd5], 1;\n",
                             "ld.relaxed.gpu.global.u32 %r5, [%rd5];\nmembar.gl;\n")));
}

TEST(GlobalRace, HandOverWithoutRelease) {
  const Trial trial =
      hand_over("red.relaxed.gpu.global.add.u32 [%rd5], 1;\n", "ld.acquire.gpu.global.u32 %r5, [%rd5];\n");
  expect_race(trial, run(trial), Check::kGlobalRace, "DATA", "USE");
}

TEST(GlobalRace, HandOverWithoutAcquire) {
  const Trial trial =
      hand_over("st.release.gpu.global.u32 [%rd5], 1;\n", "ld.relaxed.gpu.global.u32 %r5, [%rd5];\n");
  expect_race(trial, run(trial), Check::kGlobalRace, "DATA", "USE");
}

// A fence of block scope orders nothing for another block.
TEST(GlobalRace, HandOverWithTooNarrowAFence) {
  const Trial trial = hand_over("fence.acq_rel.cta;\nst.relaxed.gpu.global.u32 [%rd5], 1;\n",
                                "ld.acquire.gpu.global.u32 %r5, [%rd5];\n");
  expect_race(trial, run(trial), Check::kGlobalRace, "DATA", "USE");
}

TEST(GlobalRace, NonCoherentLoadOfWrittenMemory) {
  const auto make = [](const char* load) {
    return in_global(std::string("st.global.u32 [%rd3], %r1;  // WRITE\n") + load +
                         " %r6, [%rd3];  // READ\nadd.u64 %rd8, %rd3, 1024;\nst.global.u32 [%rd8], %r6;",
                     1, 32);
  };
  const Trial trial = make("ld.global.nc.u32");
  const LaunchReport report = run(trial);
  bool seen = false;
  for (const Finding& finding : report.findings)
    seen |= finding.place.ptx_line == line_of(trial.text, "READ");
  EXPECT_TRUE(seen) << describe(report);
  expect_clean(run(make("ld.global.u32")));
}

}  // namespace
}  // namespace moe4::ptx::test
