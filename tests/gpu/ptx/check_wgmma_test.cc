// The rules around wgmma: registers, fences, warpgroups, what it reads. Each fault is an edit of one right
// kernel.
#include <gtest/gtest.h>

#include "gpu/ptx/uninitialized.h"
#include "tests/gpu/ptx/check_support.h"
#include "tests/gpu/ptx/plain_tensor_core.h"

namespace moe4::ptx::test {
namespace {

// A from registers (16 rows a warp), B 8 × 16 filled by ordinary stores; D and out are 64 × 8.
const std::string& right_text() {
  static const std::string text = kernel(".param .u64 out", R"(
.shared .align 1024 .b8 tile[1024];
.reg .f32 d<4>; .reg .b32 a<4>;
mov.u32 %r1, %tid.x; mov.u32 %r2, tile; ld.param.u64 %rd1, [out];
mad.lo.u32 %r3, %r1, 8, %r2; st.shared.v2.u32 [%r3], {%r1, %r1};  // FILL
fence.proxy.async.shared::cta;  // PROXY_FENCE
bar.sync 0;  // BARRIER
mov.b32 a0, %r1; mov.b32 a1, 0; mov.b32 a2, %r1; mov.b32 a3, 0;  // SET_A
mov.f32 d0, 0f00000000; mov.f32 d1, d0; mov.f32 d2, d0; mov.f32 d3, d0;  // SET_D
shr.u32 %r4, %r2, 4; cvt.u64.u32 %rd2, %r4; or.b64 %rd2, %rd2, 0x4000004000010000;  // DESCRIPTOR
wgmma.fence.sync.aligned;  // WGMMA_FENCE
wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {d0, d1, d2, d3}, {a0, a1, a2, a3}, %rd2, 1, 1, 1, 0;  // FIRST
wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {d0, d1, d2, d3}, {a0, a1, a2, a3}, %rd2, 1, 1, 1, 0;  // SECOND
wgmma.commit_group.sync.aligned;  // COMMIT
mov.b32 %r5, %r1;  // BETWEEN
wgmma.wait_group.sync.aligned 0;  // WAIT
mov.b32 %r6, %r1;  // AFTER
mul.wide.u32 %rd3, %r1, 16; add.u64 %rd4, %rd1, %rd3;
st.global.v4.f32 [%rd4], {d0, d1, d2, d3};  // OUT
ret;)");
  return text;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

Trial trial(const std::string& text, std::uint32_t threads = 128) {
  Trial result{text, {output("out", 16 * threads)}, {1, 1, 1}, {threads, 1, 1}};
  result.options.tensor_core = &plain_tensor_core();
  return result;
}
Trial edit(const std::string& from, const std::string& to) { return trial(replaced(right_text(), from, to)); }

TEST(WgmmaRules, TheKernelIsRight) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Trial right = trial(right_text());
    if (seed != 0) right.options.schedule = seed;
    expect_clean(run(right));
  }
}

void expect_pair(const Trial& trial, Check check, const char* here, const char* there, bool formal = false) {
  LaunchReport report = run(trial);
  std::erase_if(report.findings, [](const Finding& f) { return f.check == Check::kAsyncPending; });
  const Finding finding = expect_finding(trial, report, check, here);
  EXPECT_EQ(finding.formal, formal);
  ASSERT_TRUE(finding.other.has_value()) << describe(report);
  EXPECT_EQ(finding.other->ptx_line, line_of(trial.text, there)) << describe(report);
}

TEST(WgmmaRules, AccumulatorsBeforeTheWait) {
  expect_pair(edit("wgmma.wait_group.sync.aligned 0;", ""), Check::kWgmma, "// OUT", "// SECOND");
  expect_pair(edit("mov.b32 %r5, %r1;  // BETWEEN", "add.f32 %f1, d0, d1;  // BETWEEN"), Check::kWgmma,
              "// BETWEEN", "// SECOND");
  expect_pair(edit("mov.b32 %r5, %r1;  // BETWEEN", "cvt.rn.f32.u32 d2, %r1;  // BETWEEN"), Check::kWgmma,
              "// BETWEEN", "// SECOND");
  // A plain copy disappears in the assembler; its value is the finished one.
  expect_pair(edit("mov.b32 %r5, %r1;  // BETWEEN", "mov.f32 %f1, d0;  // BETWEEN"), Check::kWgmma,
              "// BETWEEN", "// SECOND", true);
}

TEST(WgmmaRules, FragmentsOfABeforeTheWait) {
  expect_pair(edit("mov.b32 %r5, %r1;  // BETWEEN", "add.u32 a0, %r1, 1;  // BETWEEN"), Check::kWgmma,
              "// BETWEEN", "// SECOND");
  expect_clean(run(edit("mov.b32 %r5, %r1;  // BETWEEN", "add.u32 %r5, a0, 1;  // BETWEEN")));  // only reads
  expect_clean(run(edit("mov.b32 %r6, %r1;  // AFTER", "add.u32 a0, %r1, 1;  // AFTER")));
}

TEST(WgmmaRules, Fence) {
  const Trial none = edit("wgmma.fence.sync.aligned;", "");
  expect_finding(none, run(none), Check::kWgmma, "// FIRST");
  // One that comes before the registers are set.
  const std::string early = replaced(replaced(right_text(), "wgmma.fence.sync.aligned;", ""),
                                     "mov.b32 a0, %r1;", "wgmma.fence.sync.aligned;\nmov.b32 a0, %r1;");
  expect_pair(trial(early), Check::kWgmma, "// FIRST", "// SET_D");
  // Accumulators that were read in between.
  const std::string again =
      "{d0, d1, d2, d3}, {a0, a1, a2, a3}, %rd2, 1, 1, 1, 0;  // THIRD\nwgmma.commit_group.sync.aligned;\n"
      "wgmma.wait_group.sync.aligned 0;\n";
  const std::string third = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 " + again;
  expect_pair(edit("mov.b32 %r6, %r1;  // AFTER", "add.f32 %f1, d0, d1;  // AFTER\n" + third), Check::kWgmma,
              "// THIRD", "// AFTER");
  expect_clean(run(edit("mov.b32 %r6, %r1;  // AFTER",
                        "add.f32 %f1, d0, d1;  // AFTER\nwgmma.fence.sync.aligned;\n" + third)));
  expect_clean(run(edit("mov.b32 %r6, %r1;  // AFTER", third)));  // nothing touched them
}

TEST(WgmmaRules, ProxyFence) {
  expect_pair(edit("fence.proxy.async.shared::cta;  // PROXY_FENCE", ""), Check::kProxyFence, "// FIRST",
              "// FILL");
  expect_pair(edit("fence.proxy.async.shared::cta;  // PROXY_FENCE", "fence.proxy.async.global;"),
              Check::kProxyFence, "// FIRST", "// FILL");
  expect_clean(run(edit("fence.proxy.async.shared::cta;  // PROXY_FENCE\nbar.sync 0;  // BARRIER",
                        "bar.sync 0;\nfence.proxy.async;")));
  const Trial unordered = edit("bar.sync 0;  // BARRIER", "");
  const LaunchReport report = run(unordered);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].check, Check::kSharedRace) << describe(report);
}

TEST(WgmmaRules, ProxyFenceBehindCopies) {
  const auto make = [](const char* fence) {
    return trial(
        replaced(replaced(right_text(), "st.shared.v2.u32 [%r3], {%r1, %r1};  // FILL",
                          "mov.u64 %rd5, source; mul.wide.u32 %rd6, %r1, 8; add.u64 %rd5, %rd5, %rd6;\n"
                          "cp.async.ca.shared.global [%r3], [%rd5], 8;  // FILL\ncp.async.wait_all;"),
                 "fence.proxy.async.shared::cta;  // PROXY_FENCE", fence));
  };
  Trial right = make("fence.proxy.async;"), wrong = make("");
  for (Trial* t : {&right, &wrong}) {
    t->text = replaced(t->text, ".visible .entry", ".global .align 16 .b8 source[1024];\n.visible .entry");
  }
  expect_clean(run(right));
  expect_pair(wrong, Check::kProxyFence, "// FIRST", "// FILL", true);
}

TEST(WgmmaRules, TileOverwrittenWhileItIsRead) {
  expect_pair(edit("mov.b32 %r5, %r1;  // BETWEEN", "st.shared.u32 [%r3], 0;  // BETWEEN"),
              Check::kSharedRace, "// BETWEEN", "// FIRST");
  // After the warp's own wait, other warps may still read it.
  const Trial after =
      edit("mov.b32 %r6, %r1;  // AFTER", "xor.b32 %r3, %r3, 512; st.shared.u32 [%r3], 0;  // AFTER");
  const LaunchReport report = run(after);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].check, Check::kSharedRace) << describe(report);
  expect_clean(run(edit("mov.b32 %r6, %r1;  // AFTER",
                        "bar.sync 0; xor.b32 %r3, %r3, 512; st.shared.u32 [%r3], 0;  // AFTER")));
}

TEST(WgmmaRules, PendingAtTheEnd) {
  std::string text = replaced(right_text(), "wgmma.wait_group.sync.aligned 0;", "");
  text = replaced(text, "st.global.v4.f32 [%rd4], {d0, d1, d2, d3};", "st.global.u32 [%rd4], %r1;");
  const Trial pending = trial(text);
  expect_finding(pending, run(pending), Check::kAsyncPending, "// FIRST");
}

TEST(WgmmaRules, Warpgroups) {
  const Trial half = trial(right_text(), 64);
  expect_finding(half, run(half), Check::kWgmma, "// FIRST");
  // The fourth warp has another matrix; the lanes of a warp disagree; a warp leaves one out.
  const Trial other =
      edit("0x4000004000010000;  // DESCRIPTOR",
           "0x4000004000010000; setp.ge.u32 %p1, %r1, 96;\n@%p1 xor.b64 %rd2, %rd2, 0x10000;  // DESCRIPTOR");
  const LaunchReport report = run(other);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].check, Check::kWgmma) << describe(report);
  const Trial lanes =
      edit("0x4000004000010000;  // DESCRIPTOR",
           "0x4000004000010000; setp.eq.u32 %p1, %r1, 5;\n@%p1 xor.b64 %rd2, %rd2, 0x10000;  // DESCRIPTOR");
  expect_finding(lanes, run(lanes), Check::kWgmma, "// FIRST");
  const Trial fewer = edit("wgmma.fence.sync.aligned;",
                           "wgmma.fence.sync.aligned; setp.ge.u32 %p1, %r1, 96;\n@%p1 bra LESS;");
  Trial skipping = fewer;
  skipping.text = replaced(fewer.text, "wgmma.commit_group.sync.aligned;  // COMMIT",
                           "LESS:\nwgmma.commit_group.sync.aligned;");
  expect_finding(skipping, run(skipping), Check::kWgmma, "// FIRST");
}

TEST(WgmmaRules, DescriptorsThatLeadOutside) {
  const Trial outside = edit("0x4000004000010000;  // DESCRIPTOR",
                             "0x4000004000010000; add.u64 %rd2, %rd2, 64;  // DESCRIPTOR");
  expect_finding(outside, run(outside), Check::kOutOfBounds, "// FIRST");
  const Trial base = edit("0x4000004000010000;  // DESCRIPTOR", "0x4002004000010000;  // DESCRIPTOR");
  expect_finding(base, run(base), Check::kInvalidOperand, "// FIRST");
}

TEST(WgmmaRules, RegistersOfTheWarps) {
  // 4 × 32 × 256 is all there is of a quarter … of 65536; with a second warpgroup of 240 it is too much.
  const auto make = [](const char* first, const char* second, const char* third) {
    std::string body =
        "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 128; setp.lt.u32 %p2, %r1, 256;\n@%p1 bra ONE;\n@%p2 bra "
        "TWO;\n";
    for (const char* part : {third, second, first}) {
      body += std::string(part == first    ? "ONE:\n"
                          : part == second ? "TWO:\n"
                                           : "") +
              "setmaxnreg.inc.sync.aligned.u32 " + part + ";  // " +
              (part == first    ? "FIRST"
               : part == second ? "SECOND"
                                : "THIRD") +
              "\nret;\n";
    }
    return Trial{kernel("", body), {}, {1, 1, 1}, {384, 1, 1}};
  };
  const char first[] = "240", second[] = "240", small[] = "24", large[] = "240";
  expect_clean(run(make(first, second, small)));
  EXPECT_EQ(run(make(first, second, large)).findings.at(0).check, Check::kInvalidOperand);
}

TEST(WgmmaRules, UnwrittenTiles) {
  const std::string text = replaced(right_text(), "st.shared.v2.u32 [%r3], {%r1, %r1};  // FILL", "");
  const Module module = parse_valid(text);
  Memory memory;
  Launch launch;
  launch.entry = "kernel";
  launch.block.x = 128;
  launch.parameters = Arguments().u64(memory.add_output("out", 2048)).bytes();
  Options options;
  options.tensor_core = &plain_tensor_core();
  const LaunchReport report = launch_checked(module, memory, launch, options);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].check, Check::kUninitialized);
  EXPECT_EQ(report.findings[0].place.ptx_line, line_of(text, "// FIRST")) << describe(report);
  EXPECT_TRUE(launch_checked(parse_valid(right_text()), memory, launch, options).findings.empty());
}

}  // namespace
}  // namespace moe4::ptx::test
