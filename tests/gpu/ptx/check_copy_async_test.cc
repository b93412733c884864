// cp.async: bytes land late, groups are a thread's own, and each wait that is left out is found.
#include <gtest/gtest.h>

#include "tests/gpu/ptx/check_support.h"

namespace moe4::ptx::test {
namespace {

constexpr const char* kSetup = R"(
.shared .align 16 .b8 tile[4096];
mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mad.lo.u32 %r3, %r1, 16, %r2;
xor.b32 %r4, %r1, 63; mad.lo.u32 %r5, %r4, 16, %r2;
ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mul.wide.u32 %rd3, %r1, 16; add.u64 %rd4, %rd1, %rd3;
mul.wide.u32 %rd5, %r1, 4; add.u64 %rd6, %rd2, %rd5;
)";

Trial copying(const std::string& body) {
  return {kernel(".param .u64 in, .param .u64 out", kSetup + body + "\nret;"),
          {input("in", 4096), output("out", 1024)},
          {1, 1, 1},
          {64, 1, 1}};
}

// Each thread copies 16 bytes; its mirror image in the other warp reads them.
Trial mirror(const std::string& commit, const std::string& wait, const std::string& barrier) {
  return copying("cp.async.cg.shared.global [%r3], [%rd4], 16;  // COPY\n" + commit + wait + barrier +
                 "ld.shared.u32 %r6, [%r5];  // READ\nst.global.u32 [%rd6], %r6;");
}
constexpr const char *kCommit = "cp.async.commit_group;\n", *kWait = "cp.async.wait_group 0;\n",
                     *kBarrier = "bar.sync 0;\n";

TEST(CopyAsync, WaitAndBarrierAreBothNeeded) {
  expect_clean(run(mirror(kCommit, kWait, kBarrier)));
  expect_clean(run(mirror("", "cp.async.wait_all;\n", kBarrier)));
  const Trial no_wait = mirror(kCommit, "", kBarrier), no_commit = mirror("", kWait, kBarrier),
              too_many = mirror(kCommit, "cp.async.wait_group 1;\n", kBarrier),
              no_barrier = mirror(kCommit, kWait, "");
  for (const Trial* trial : {&no_wait, &no_commit, &too_many}) {
    LaunchReport report = run(*trial);
    // Such a copy is also pending at the end.
    std::erase_if(report.findings,
                  [](const Finding& f) { return f.check == Check::kAsyncPending && f.formal; });
    const Finding finding = expect_race(*trial, report, Check::kSharedRace, "// COPY", "// READ");
    EXPECT_NE(finding.message.find("pending"), std::string::npos) << finding.message;
  }
  expect_race(no_barrier, run(no_barrier), Check::kSharedRace, "// COPY", "// READ");
}

std::vector<std::uint32_t> outputs(const Trial& trial) {
  const Module module = parse_valid(trial.text);
  Memory memory;
  std::vector<std::byte> in(4096);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::byte>(i * 7 + i / 256);
  const std::uint64_t a = memory.add_input("in", in), out = memory.add_zeroed("out", 256);
  run(module, memory, {1, 1, 1}, {64, 1, 1}, Arguments().u64(a).u64(out), trial.options);
  return read_all<std::uint32_t>(memory, out, 64);
}

// The default schedule lands the bytes at the last moment, so that a missing wait also shows in the values.
TEST(CopyAsync, BytesLandLate) {
  Trial right = mirror(kCommit, kWait, kBarrier), wrong = mirror(kCommit, "", kBarrier);
  right.options.checks = wrong.options.checks = false;
  const auto good = outputs(right), bad = outputs(wrong);
  for (std::size_t i = 0; i < 64; ++i) {
    const std::size_t at = (63 - i) * 16;
    const auto byte = [&](std::size_t k) { return static_cast<std::uint8_t>((at + k) * 7 + (at + k) / 256); };
    EXPECT_EQ(good[i], std::uint32_t{byte(0)} | byte(1) << 8 | byte(2) << 16 | std::uint32_t{byte(3)} << 24);
    EXPECT_EQ(bad[i], 0xffffffffu);  // what the tile held before
  }
}

TEST(CopyAsync, SourceSizesFillWithZeros) {
  const Trial trial = copying(
      "rem.u32 %r10, %r1, 17;\ncp.async.ca.shared.global [%r3], [%rd4], 16, %r10;\ncp.async.wait_all;\n"
      "ld.shared.v4.u32 {%r11, %r12, %r13, %r14}, [%r3];\nadd.u64 %rd7, %rd2, %rd3;\n"
      "st.global.v4.u32 [%rd7], {%r11, %r12, %r13, %r14};");
  const Module module = parse_valid(trial.text);
  Memory memory;
  std::vector<std::uint8_t> in(1024, 0x5a);
  const std::uint64_t a = memory.add_input("in", std::as_bytes(std::span(in))),
                      out = memory.add_output("out", 1024);
  expect_clean(run(module, memory, {1, 1, 1}, {64, 1, 1}, Arguments().u64(a).u64(out)));
  const auto got = read_all<std::uint8_t>(memory, out, 1024);
  for (std::size_t i = 0; i < 1024; ++i) EXPECT_EQ(got[i], i % 16 < i / 16 % 17 ? 0x5a : 0) << i;
}

TEST(CopyAsync, IgnoredSourceIsNeverRead) {
  const auto make = [](const char* predicate) {
    return copying(
        "setp.lt.u32 %p1, %r1, 32;\nadd.u64 %rd8, %rd4, 4096;\nselp.b64 %rd8, %rd4, %rd8, %p1;\n"
        "cp.async.ca.shared.global [%r3], [%rd8], 8, " +
        std::string(predicate) +
        ";  // COPY\ncp.async.wait_all;\nld.shared.u32 %r6, [%r3];\nst.global.u32 [%rd6], %r6;");
  };
  expect_clean(run(make("!%p1")));
  const Trial wrong = make("%p1");
  expect_finding(wrong, run(wrong), Check::kOutOfBounds, "// COPY");
}

// A ring of two stages: copies one round ahead.
Trial ring(const char* allowed, bool second_barrier, int stages = 2) {
  const std::string modulo =
      "rem.u32 %r11, %r10, " + std::to_string(stages) + ";\nmad.lo.u32 %r12, %r11, 1024, ";
  return copying(
      "mov.u32 %r10, 0; mov.u32 %r20, 0;\ncp.async.cg.shared.global [%r3], [%rd4], "
      "16;\ncp.async.commit_group;\n"
      "LOOP:\nadd.u32 %r10, %r10, 1;\nsetp.ge.u32 %p2, %r10, 4;\n@%p2 bra NONE;\n" +
      modulo +
      "%r3;\nmul.wide.u32 %rd8, %r10, 1024;\nadd.u64 %rd8, %rd4, %rd8;\n"
      "cp.async.cg.shared.global [%r12], [%rd8], 16;  // "
      "FILL\nNONE:\ncp.async.commit_group;\ncp.async.wait_group " +
      std::string(allowed) + ";\nbar.sync 0;\nsub.u32 %r10, %r10, 1;\n" + modulo +
      "%r5;\nadd.u32 %r10, %r10, 1;\nld.shared.u32 %r13, [%r12];  // USE\nadd.u32 %r20, %r20, %r13;\n" +
      (second_barrier ? "bar.sync 0;\n" : "") +
      "setp.lt.u32 %p1, %r10, 4;\n@%p1 bra LOOP;\nst.global.u32 [%rd6], %r20;");
}

TEST(CopyAsync, Ring) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Trial right = ring("1", true);
    if (seed != 0) right.options.schedule = seed;
    expect_clean(run(right));
  }
  const Trial early = ring("2", true), refill = ring("1", false);
  const Finding pending = run(early).findings.at(0);
  EXPECT_EQ(pending.check, Check::kSharedRace);
  EXPECT_EQ(pending.place.ptx_line, line_of(early.text, "// USE"));
  expect_race(refill, run(refill), Check::kSharedRace, "// FILL", "// USE");
  // One barrier a round is enough with three stages.
  expect_clean(run(ring("1", false, 3)));
}

TEST(CopyAsync, PendingAtTheEndIsFormal) {
  const Trial trial =
      copying("cp.async.cg.shared.global [%r3], [%rd4], 16;  // COPY\nst.global.u32 [%rd6], %r1;");
  EXPECT_TRUE(expect_finding(trial, run(trial), Check::kAsyncPending, "// COPY").formal);
}

TEST(CopyAsync, AddressesAndForms) {
  const Trial shared = copying("add.u32 %r3, %r3, 8;\ncp.async.cg.shared.global [%r3], [%rd4], 16;  // COPY");
  expect_finding(shared, run(shared), Check::kMisaligned, "// COPY");
  const Trial beyond =
      copying("add.u32 %r3, %r3, 4096;\ncp.async.cg.shared.global [%r3], [%rd4], 16;  // COPY");
  expect_finding(beyond, run(beyond), Check::kOutOfBounds, "// COPY");
  const Trial source =
      copying("add.u64 %rd4, %rd4, 4096;\ncp.async.cg.shared.global [%r3], [%rd4], 16;  // COPY");
  expect_finding(source, run(source), Check::kOutOfBounds, "// COPY");
  for (const char* form :
       {"cp.async.cg.shared.global [%r3], [%rd4], 8;", "cp.async.ca.shared.global [%r3], [%rd4], 12;",
        "cp.async.ca.shared.global [%r3], [%rd4], %r1;", "cp.async.wait_group %r1;"}) {
    EXPECT_EQ(parse_valid(kernel("", std::string(form) + "\nret;")).entries()[0].unsupported.size(), 1u)
        << form;
  }
}

}  // namespace
}  // namespace moe4::ptx::test
