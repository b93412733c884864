// A tile whose partial sums several blocks add up in turn, as stream-K kernels do: a semaphore that is
// awaited by acquire and passed on by a fence and a relaxed red.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/gpu/ptx/check_support.h"

namespace moe4::ptx::test {
namespace {

constexpr std::uint32_t kBlocks = 6;

Trial stream_k(bool fence) {
  Trial trial{kernel(".param .u64 semaphore, .param .u64 sums, .param .u64 out",
                     std::string(R"(
ld.param.u64 %rd1, [semaphore]; ld.param.u64 %rd2, [sums]; ld.param.u64 %rd3, [out];
mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %nctaid.x;
mul.wide.u32 %rd4, %r1, 4; add.u64 %rd5, %rd2, %rd4; add.u64 %rd6, %rd3, %rd4;
add.u32 %r4, %r1, 1; add.u32 %r5, %r2, 1; mul.lo.u32 %r4, %r4, %r5; cvt.rn.f32.u32 %f1, %r4;
setp.ne.u32 %p1, %r1, 0; @%p1 bra TURN;
SPIN:
ld.acquire.gpu.global.u32 %r6, [%rd1]; setp.ne.u32 %p2, %r6, %r2; @%p2 bra SPIN;
TURN:
bar.sync 0;
setp.eq.u32 %p3, %r2, 0; @%p3 bra FIRST;
ld.global.f32 %f2, [%rd5];  // TAKE
add.rn.f32 %f1, %f1, %f2;
FIRST:
setp.ne.u32 %p4, %r5, %r3; @%p4 st.global.f32 [%rd5], %f1;  // LEAVE
@!%p4 st.global.f32 [%rd6], %f1;
bar.sync 0;
@%p1 bra DONE;
)") + (fence ? "fence.acq_rel.gpu;\n" : "") +
                         R"(red.relaxed.gpu.global.add.s32 [%rd1], 1;
DONE:
ret;)"),
              {zeroed("semaphore", 4), output("sums", 256), output("out", 256)}};
  trial.grid = {kBlocks, 1, 1};
  trial.block = {64, 1, 1};
  return trial;
}

TEST(StreamK, IsCleanUnderTwoHundredSeeds) {
  Trial trial = stream_k(true);
  const Module module = parse_valid(trial.text);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Memory memory;
    const std::uint64_t semaphore = memory.add_zeroed("semaphore", 4), sums = memory.add_output("sums", 256),
                        out = memory.add_output("out", 256);
    Options options;
    options.schedule = seed;
    expect_clean(
        run(module, memory, trial.grid, trial.block, Arguments().u64(semaphore).u64(sums).u64(out), options));
    const auto got = read_all<float>(memory, out, 64);
    for (std::uint32_t i = 0; i < 64; ++i) ASSERT_EQ(got[i], static_cast<float>(21 * (i + 1))) << seed;
  }
}

TEST(StreamK, WithoutItsFenceItFailsWithinTwentySeeds) {
  Trial trial = stream_k(false);
  int found = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    trial.options.schedule = seed;
    const LaunchReport report = run(trial);
    found += std::any_of(report.findings.begin(), report.findings.end(),
                         [](const Finding& finding) { return finding.check == Check::kGlobalRace; });
  }
  EXPECT_EQ(found, 20);
}

}  // namespace
}  // namespace moe4::ptx::test
