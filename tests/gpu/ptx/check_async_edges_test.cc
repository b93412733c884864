// Faults at the edges of asynchronous work, each a planted kernel with its right twin: a tile refilled while
// one of many readers still reads it, a store over an mbarrier, a proxy fence of the wrong space, a bulk
// store that has only read its source, a source overwritten under its copy.
#include <gtest/gtest.h>

#include "tests/gpu/ptx/check_support.h"
#include "tests/gpu/ptx/plain_tensor_core.h"

namespace moe4::ptx::test {
namespace {

constexpr int kSeeds = 8;

void expect_clean_under_seeds(Trial trial) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    if (seed != 0) trial.options.schedule = seed;
    expect_clean(run(trial));
  }
}

// Two warpgroups read one tile by wgmma; after a barrier of all warps, or of all but one, warp 0 refills it.
Trial refill(unsigned without) {
  std::string text = kernel(".param .u64 out", R"(
.shared .align 1024 .b8 tile[1024];
.reg .f32 d<4>; .reg .b32 a<4>;
mov.u32 %r1, %tid.x; mov.u32 %r2, tile; ld.param.u64 %rd1, [out]; shr.u32 %r9, %r1, 5;
mad.lo.u32 %r3, %r1, 4, %r2; st.shared.u32 [%r3], %r1;
fence.proxy.async.shared::cta;
bar.sync 0;
mov.b32 a0, %r1; mov.b32 a1, 0; mov.b32 a2, %r1; mov.b32 a3, 0;
mov.f32 d0, 0f00000000; mov.f32 d1, d0; mov.f32 d2, d0; mov.f32 d3, d0;
shr.u32 %r4, %r2, 4; cvt.u64.u32 %rd2, %r4; or.b64 %rd2, %rd2, 0x4000004000010000;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {d0, d1, d2, d3}, {a0, a1, a2, a3}, %rd2, 1, 1, 1, 0;  // USE
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
setp.eq.u32 %p1, %r9, WITHOUT;
@%p1 bra OUT;
bar.sync 1, COUNT;
setp.ge.u32 %p2, %r1, 32;
@%p2 bra OUT;
st.shared.v2.u32 [%r2], {%r1, %r1};  // REFILL
OUT:
mul.wide.u32 %rd3, %r1, 16; add.u64 %rd4, %rd1, %rd3;
st.global.v4.f32 [%rd4], {d0, d1, d2, d3};
ret;)");
  const auto set = [&](const std::string& name, std::uint32_t value) {
    text.replace(text.find(name), name.size(), std::to_string(value));
  };
  set("WITHOUT", without);
  set("COUNT", without < 8 ? 224 : 256);
  // One lane refills: the lanes of a store with different values would race among themselves.
  text.replace(text.find("@%p2 bra OUT;"), 13, "@%p2 bra OUT;\nsetp.ne.u32 %p3, %r1, 0;\n@%p3 bra OUT;");
  Trial trial{text, {output("out", 16 * 256)}, {1, 1, 1}, {256, 1, 1}};
  trial.options.tensor_core = &plain_tensor_core();
  return trial;
}

TEST(AsyncEdges, EveryWgmmaThatReadsATileCounts) {
  expect_clean_under_seeds(refill(8));
  for (unsigned warp = 1; warp < 8; ++warp) {
    const Trial trial = refill(warp);
    const Finding finding = expect_race(trial, run(trial), Check::kSharedRace, "// USE", "// REFILL");
    ASSERT_TRUE(finding.other.has_value());
    EXPECT_EQ(finding.other->thread, (Dim3{warp * 32, 0, 0}));
  }
}

// A pair of threads pass one phase of an mbarrier; something is done to its bytes before, between or after.
Trial over_mbarrier(const std::string& before, const std::string& after) {
  return {kernel(".param .u64 out", R"(
.shared .align 8 .b8 full[8];
mov.u32 %r1, %tid.x; mov.u32 %r3, full; ld.param.u64 %rd1, [out]; setp.eq.u32 %p1, %r1, 0;
@%p1 mbarrier.init.shared.b64 [%r3], 64;  // INIT
bar.sync 0;
)" + before + R"(
mbarrier.arrive.shared.b64 _, [%r3];  // ARRIVE
TRY: mbarrier.try_wait.parity.shared.b64 %p3, [%r3], 0; @!%p3 bra TRY;
bar.sync 0;
)" + after + R"(
mul.wide.u32 %rd3, %r1, 4; add.u64 %rd3, %rd1, %rd3; st.global.u32 [%rd3], %r1;
ret;)"),
          {output("out", 256)},
          {1, 1, 1},
          {64, 1, 1}};
}

TEST(AsyncEdges, StoresOverAnMbarrier) {
  const std::string store = "@%p1 st.shared.u16 [%r3+6], 0;  // STORE\n";
  expect_clean_under_seeds(over_mbarrier("", ""));
  expect_clean_under_seeds(over_mbarrier("", "@%p1 mbarrier.inval.shared.b64 [%r3];\n" + store));
  // It rests, and is never used again.
  const Trial after = over_mbarrier("", store);
  EXPECT_TRUE(expect_finding(after, run(after), Check::kMbarrier, "// STORE").formal);
  const auto expect_red_use = [](const Trial& trial, const char* place, const char* other) {
    const LaunchReport report = run(trial);
    bool found = false;
    for (const Finding& finding : report.findings) {
      found = found || (finding.check == Check::kMbarrier && !finding.formal && finding.other &&
                        finding.place.ptx_line == line_of(trial.text, place) &&
                        finding.other->ptx_line == line_of(trial.text, other));
    }
    EXPECT_TRUE(found) << describe(report);
  };
  expect_red_use(over_mbarrier(store + "bar.sync 0;\n", ""), "// ARRIVE", "// STORE");
  expect_red_use(over_mbarrier("@%p1 red.shared.add.u32 [%r3], 1;  // STORE\nbar.sync 0;\n", ""), "// ARRIVE",
                 "// STORE");
  // In the middle of a phase.
  expect_red_use(over_mbarrier("@%p1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r3], 16;\n" + store +
                                   "@%p1 mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r3], 16;\n",
                               ""),
                 "// STORE", "// INIT");
}

// 32 threads leave numbers in global memory; one loads them by a bulk copy.
Trial loaded_back(const std::string& fence, const std::string& behind = "") {
  return {kernel(".param .u64 data, .param .u64 out", R"(
.shared .align 128 .b8 tile[128];
.shared .align 8 .b8 full[8];
mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mov.u32 %r3, full; ld.param.u64 %rd1, [data]; ld.param.u64 %rd2, [out];
mul.wide.u32 %rd4, %r1, 4; add.u64 %rd5, %rd1, %rd4; add.u64 %rd6, %rd2, %rd4; setp.eq.u32 %p1, %r1, 0;
@%p1 mbarrier.init.shared.b64 [%r3], 1;
@%p1 fence.mbarrier_init.release.cluster;
st.global.u32 [%rd5], %r1;  // WRITE
)" + fence + R"(
@!%p1 bra WAIT;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 128;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 128, [%r3];  // COPY
)" + behind + R"(
WAIT: mbarrier.try_wait.parity.shared.b64 %p3, [%r3], 0; @!%p3 bra WAIT;
mad.lo.u32 %r4, %r1, 4, %r2; ld.shared.u32 %r5, [%r4]; st.global.u32 [%rd6], %r5;
ret;)"),
          {output("data", 128), output("out", 128)},
          {1, 1, 1},
          {32, 1, 1}};
}

TEST(AsyncEdges, ProxyFencesAreOfASpace) {
  for (const char* fence : {"fence.proxy.async.global;\nbar.sync 0;", "bar.sync 0;\nfence.proxy.async;",
                            "bar.sync 0;\n@%p1 fence.proxy.async.global;"}) {
    expect_clean_under_seeds(loaded_back(fence));
  }
  for (const char* fence : {"bar.sync 0;", "fence.proxy.async.shared::cta;\nbar.sync 0;",
                            "@%p1 fence.proxy.async.global;\nbar.sync 0;"}) {  // of one thread's own stores
    const Trial trial = loaded_back(fence);
    const Finding finding = expect_finding(trial, run(trial), Check::kProxyFence, "// COPY");
    EXPECT_FALSE(finding.formal);
    ASSERT_TRUE(finding.other.has_value());
    EXPECT_EQ(finding.other->ptx_line, line_of(trial.text, "// WRITE"));
  }
}

TEST(AsyncEdges, TheSourceOfABulkLoadIsInUseUntilItsPhaseEnds) {
  const char* fence = "fence.proxy.async.global;\nbar.sync 0;";
  const Trial trial = loaded_back(fence, "st.global.u32 [%rd1], 7;  // REUSE");
  const Finding finding = expect_race(trial, run(trial), Check::kGlobalRace, "// COPY", "// REUSE");
  EXPECT_NE(finding.message.find("pending"), std::string::npos) << finding.message;
  Trial right = loaded_back(fence);
  const std::string read = "mad.lo.u32 %r4";
  right.text.replace(right.text.find(read), read.size(), "st.global.u32 [%rd5], 7;\n" + read);
  expect_clean_under_seeds(right);
}

// A thread stores a tile by a bulk copy, waits in some way, and reads back what it has stored.
Trial stored(const std::string& wait) {
  return {kernel(".param .u64 data, .param .u64 out", R"(
.shared .align 128 .b8 tile[128];
mov.u32 %r1, %tid.x; mov.u32 %r2, tile; ld.param.u64 %rd1, [data]; ld.param.u64 %rd2, [out];
mul.wide.u32 %rd4, %r1, 4; add.u64 %rd6, %rd2, %rd4; setp.eq.u32 %p1, %r1, 0;
mad.lo.u32 %r4, %r1, 4, %r2; add.u32 %r5, %r1, 5; st.shared.u32 [%r4], %r5;
fence.proxy.async.shared::cta;
bar.sync 0;
@!%p1 bra OUT;
cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 128;  // STORE
cp.async.bulk.commit_group;
)" + wait + R"(
OUT:
ret;)"),
          {zeroed("data", 128), output("out", 128)},
          {1, 1, 1},
          {32, 1, 1}};
}

TEST(AsyncEdges, ABulkStoreThatHasReadItsSourceHasNotWritten) {
  const std::string use = "ld.global.u32 %r6, [%rd1];  // USE\nst.global.u32 [%rd2], %r6;\n";
  expect_clean_under_seeds(stored("cp.async.bulk.wait_group 0;\n" + use));
  // The kernel's end completes it, and its source may be used again.
  expect_clean_under_seeds(stored("cp.async.bulk.wait_group.read 0;\nst.shared.u32 [%r2], 99;\n"));
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Trial trial = stored("cp.async.bulk.wait_group.read 0;\n" + use);
    if (seed != 0) trial.options.schedule = seed;
    const Finding finding = expect_race(trial, run(trial), Check::kGlobalRace, "// STORE", "// USE");
    EXPECT_NE(finding.message.find("pending"), std::string::npos) << finding.message;
  }
}

// … and the bytes: late by default, what the source held when it was read.
TEST(AsyncEdges, TheBytesOfABulkStoreAreThoseOfItsSource) {
  const auto words = [](const std::string& wait) {
    const Trial trial = stored(wait);
    const Module module = parse_valid(trial.text);
    Memory memory;
    const std::uint64_t data = memory.add_zeroed("data", 128), out = memory.add_zeroed("out", 128);
    Options options;
    options.checks = false;
    run(module, memory, {1, 1, 1}, {32, 1, 1}, Arguments().u64(data).u64(out), options);
    return std::pair(read_all<std::uint32_t>(memory, data, 1)[0], read_all<std::uint32_t>(memory, out, 1)[0]);
  };
  const std::string reuse =
      "st.shared.u32 [%r2], 99;\nld.global.u32 %r6, [%rd1];\nst.global.u32 [%rd2], %r6;\n";
  EXPECT_EQ(words("cp.async.bulk.wait_group.read 0;\n" + reuse), (std::pair{5u, 0u}));
  EXPECT_EQ(words("cp.async.bulk.wait_group 0;\n" + reuse), (std::pair{5u, 5u}));
}

// The source of a cp.async overwritten by the thread that copies.
Trial copied(const std::string& between, const std::string& after) {
  return {kernel(".param .u64 data, .param .u64 out", R"(
.shared .align 16 .b8 tile[512];
mov.u32 %r1, %tid.x; mov.u32 %r2, tile; ld.param.u64 %rd1, [data]; ld.param.u64 %rd2, [out];
mul.wide.u32 %rd4, %r1, 16; add.u64 %rd5, %rd1, %rd4; mul.wide.u32 %rd7, %r1, 4; add.u64 %rd6, %rd2, %rd7;
mad.lo.u32 %r4, %r1, 16, %r2; st.global.u32 [%rd5], %r1;
cp.async.ca.shared.global [%r4], [%rd5], 4;  // COPY
)" + between + R"(
cp.async.wait_all;
)" + after + R"(
ld.shared.u32 %r5, [%r4]; st.global.u32 [%rd6], %r5;
ret;)"),
          {output("data", 512), output("out", 128)},
          {1, 1, 1},
          {32, 1, 1}};
}

TEST(AsyncEdges, TheSourceOfACopyIsInUseUntilTheWait) {
  const std::string reuse = "st.global.u32 [%rd5], 7;  // REUSE\n";
  expect_clean_under_seeds(copied("", reuse));
  expect_clean_under_seeds(copied("ld.global.u32 %r7, [%rd5];\n", ""));
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Trial trial = copied(reuse, "");
    if (seed != 0) trial.options.schedule = seed;
    expect_race(trial, run(trial), Check::kGlobalRace, "// COPY", "// REUSE");
  }
}

}  // namespace
}  // namespace moe4::ptx::test
