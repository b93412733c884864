// What one lane releases or acquires is its own: the rest of the warp needs a warp barrier. Each planted
// fault leaves that barrier out.
#include <gtest/gtest.h>

#include "tests/gpu/ptx/check_support.h"

namespace moe4::ptx::test {
namespace {

// Warp 0 fills a row and tells warp 1, which reads it turned round: every lane reads another lane's value.
Trial hand_over(const std::string& tell, const std::string& wait) {
  return {kernel(".param .u64 out", R"(
.shared .align 8 .b8 full[8];
.shared .align 4 .u32 flag;
.shared .align 4 .b8 row[128];
mov.u32 %r1, %tid.x; mov.u32 %r2, row; mov.u32 %r3, full; ld.param.u64 %rd1, [out]; and.b32 %r4, %r1, 31;
setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p5, %r4, 0;
@%p1 mbarrier.init.shared.b64 [%r3], 1;
@%p1 st.shared.u32 [flag], 0;
bar.sync 0;
setp.ge.u32 %p2, %r1, 32;
@%p2 bra READ;
mad.lo.u32 %r5, %r4, 4, %r2; st.shared.u32 [%r5], %r4;  // WRITE
)" + tell + R"(
bra END;
READ:
)" + wait + R"(
xor.b32 %r6, %r4, 1; mad.lo.u32 %r6, %r6, 4, %r2; ld.shared.u32 %r7, [%r6];  // READ
mul.wide.u32 %rd3, %r4, 4; add.u64 %rd3, %rd1, %rd3; st.global.u32 [%rd3], %r7;
END:
ret;)"),
          {output("out", 128)},
          {1, 1, 1},
          {64, 1, 1}};
}

const std::string kWarpBarrier = "bar.warp.sync 0xffffffff;\n";
const std::string kFlag = "@%p5 st.release.cta.shared.u32 [flag], 1;\n";
const std::string kAcquireByAll =
    "SPIN: ld.acquire.cta.shared.u32 %r10, [flag]; setp.eq.u32 %p3, %r10, 0; @%p3 bra SPIN;\n";
const std::string kAcquireByOne = "@!%p5 bra SEEN;\n" + kAcquireByAll + "SEEN:\n";
const std::string kArrive = "@%p5 mbarrier.arrive.shared.b64 _, [%r3];\n";
const std::string kWaitByAll = "TRY: mbarrier.try_wait.parity.shared.b64 %p3, [%r3], 0; @!%p3 bra TRY;\n";
const std::string kWaitByOne = "@!%p5 bra SEEN;\n" + kWaitByAll + "SEEN:\n";

TEST(LaneOrder, WhatOneLaneReleasesIsItsOwn) {
  const std::string relaxed = "@%p5 membar.cta;\n@%p5 st.relaxed.cta.shared.u32 [flag], 1;\n";
  const std::string fence_of_all = "membar.cta;\n@%p5 st.relaxed.cta.shared.u32 [flag], 1;\n";
  for (const auto& [tell, wait] :
       {std::pair{kFlag, kAcquireByAll}, std::pair{kArrive, kWaitByAll}, std::pair{relaxed, kAcquireByAll},
        std::pair{fence_of_all, kAcquireByAll}}) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      Trial right = hand_over(kWarpBarrier + tell, wait), wrong = hand_over(tell, wait);
      if (seed != 0) right.options.schedule = wrong.options.schedule = seed;
      expect_clean(run(right));
      expect_race(wrong, run(wrong), Check::kSharedRace, "// WRITE", "// READ");
    }
  }
  // Every thread's fence, then a barrier, then one thread's flag.
  expect_clean(run(hand_over("membar.cta;\n" + kWarpBarrier + "@%p5 st.relaxed.cta.shared.u32 [flag], 1;\n",
                             kAcquireByAll)));
}

TEST(LaneOrder, WhatOneLaneAcquiresIsItsOwn) {
  for (const auto& [tell, wait] :
       {std::pair{kFlag, kAcquireByOne}, std::pair{kArrive, kWaitByOne},
        std::pair{
            kFlag,
            std::string("@!%p5 bra SEEN;\nSPIN: ld.relaxed.cta.shared.u32 %r10, [flag]; setp.eq.u32 %p3, "
                        "%r10, 0; @%p3 bra SPIN;\nmembar.cta;\nSEEN:\n")}}) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      Trial right = hand_over(kWarpBarrier + tell, wait + kWarpBarrier),
            wrong = hand_over(kWarpBarrier + tell, wait);
      if (seed != 0) right.options.schedule = wrong.options.schedule = seed;
      expect_clean(run(right));
      expect_race(wrong, run(wrong), Check::kSharedRace, "// WRITE", "// READ");
    }
  }
}

// Lanes that arrive one by one have all released what they did.
TEST(LaneOrder, LanesThatArriveForThemselves) {
  Trial trial = hand_over("mbarrier.arrive.shared.b64 _, [%r3];\n", kWaitByAll);
  trial.text.replace(trial.text.find("[%r3], 1;"), 9, "[%r3], 32;");
  expect_clean(run(trial));
  // … in two halves of the warp.
  trial = hand_over(
      "setp.lt.u32 %p4, %r4, 16;\n@%p4 bra LOW;\nmbarrier.arrive.shared.b64 _, [%r3];\nbra TOLD;\nLOW: "
      "mbarrier.arrive.shared.b64 _, [%r3];\nTOLD:\n",
      kWaitByAll);
  trial.text.replace(trial.text.find("[%r3], 1;"), 9, "[%r3], 32;");
  expect_clean(run(trial));
}

// Lanes of one warp hand over through an mbarrier, without a warp barrier.
TEST(LaneOrder, WithinAWarpThroughAnMbarrier) {
  const auto make = [](const char* arrive) {
    return Trial{kernel(".param .u64 out", R"(
.shared .align 8 .b8 full[8];
.shared .align 4 .b8 row[128];
mov.u32 %r1, %tid.x; mov.u32 %r2, row; mov.u32 %r3, full; ld.param.u64 %rd1, [out];
setp.eq.u32 %p1, %r1, 0;
@%p1 mbarrier.init.shared.b64 [%r3], 32;
bar.warp.sync 0xffffffff;
mad.lo.u32 %r5, %r1, 4, %r2; st.shared.u32 [%r5], %r1;  // WRITE
)" + std::string(arrive) + R"(
TRY: mbarrier.try_wait.parity.shared.b64 %p3, [%r3], 0; @!%p3 bra TRY;
xor.b32 %r6, %r1, 1; mad.lo.u32 %r6, %r6, 4, %r2; ld.shared.u32 %r7, [%r6];  // READ
mul.wide.u32 %rd3, %r1, 4; add.u64 %rd3, %rd1, %rd3; st.global.u32 [%rd3], %r7;
ret;)"),
                 {output("out", 128)},
                 {1, 1, 1},
                 {32, 1, 1}};
  };
  expect_clean(run(make("mbarrier.arrive.shared.b64 _, [%r3];")));
  const Trial wrong = make("mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%r3];");
  expect_race(wrong, run(wrong), Check::kSharedRace, "// WRITE", "// READ");
}

// Two blocks: the first leaves 32 numbers and raises a flag, the second waits for it.
Trial between_blocks(const std::string& tell, const std::string& seen) {
  return {kernel(".param .u64 data, .param .u64 flag, .param .u64 out", R"(
mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; ld.param.u64 %rd1, [data]; ld.param.u64 %rd2, [flag]; ld.param.u64 %rd3, [out];
setp.eq.u32 %p5, %r1, 0; setp.ne.u32 %p2, %r2, 0;
mul.wide.u32 %rd4, %r1, 4; add.u64 %rd5, %rd1, %rd4;
@%p2 bra READ;
st.global.u32 [%rd5], %r1;  // WRITE
)" + tell + R"(
ret;
READ:
@!%p5 bra SEEN;
SPIN: ld.acquire.gpu.global.u32 %r10, [%rd2]; setp.eq.u32 %p3, %r10, 0; @%p3 bra SPIN;
SEEN:
)" + seen + R"(
xor.b32 %r6, %r1, 1; mul.wide.u32 %rd6, %r6, 4; add.u64 %rd6, %rd1, %rd6; ld.global.u32 %r7, [%rd6];  // READ
add.u64 %rd7, %rd3, %rd4; st.global.u32 [%rd7], %r7;
ret;)"),
          {output("data", 128), zeroed("flag", 4), output("out", 128)},
          {2, 1, 1},
          {32, 1, 1}};
}

TEST(LaneOrder, BetweenBlocks) {
  const std::string release = "@%p5 st.release.gpu.global.u32 [%rd2], 1;\n",
                    fenced = "@%p5 fence.acq_rel.gpu;\n@%p5 red.relaxed.gpu.global.add.u32 [%rd2], 1;\n";
  for (const std::string& tell : {release, fenced}) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      Trial right = between_blocks(kWarpBarrier + tell, kWarpBarrier),
            by_one = between_blocks(tell, kWarpBarrier), for_one = between_blocks(kWarpBarrier + tell, "");
      for (Trial* trial : {&right, &by_one, &for_one}) {
        if (seed != 0) trial->options.schedule = seed;
      }
      expect_clean(run(right));
      expect_race(by_one, run(by_one), Check::kGlobalRace, "// WRITE", "// READ");
      expect_race(for_one, run(for_one), Check::kGlobalRace, "// WRITE", "// READ");
    }
  }
  expect_clean(run(between_blocks("bar.sync 0;\n" + release, "bar.sync 0;\n")));
}

}  // namespace
}  // namespace moe4::ptx::test
