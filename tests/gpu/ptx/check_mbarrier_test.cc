// mbarriers: phases, arrivals, transaction bytes, and pipelines in which one step is wrong.
#include <gtest/gtest.h>

#include "gpu/ptx/uninitialized.h"
#include "tests/gpu/ptx/bulk_pipeline.h"
#include "tests/gpu/ptx/check_support.h"

namespace moe4::ptx::test {
namespace {

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  EXPECT_EQ(text.find(from, at + 1), std::string::npos) << from << " occurs twice";
  return text.replace(at, from.size(), to);
}

// Thread 0 copies 256 bytes by a bulk copy; 64 threads wait and read them.
const std::string& load_text() {
  static const std::string text = kernel(".param .u64 in, .param .u64 out", R"(
.shared .align 128 .b8 tile[256];
.shared .align 8 .b8 full[8];
mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mov.u32 %r3, full; ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
setp.ne.u32 %p1, %r1, 0;
@%p1 bra READY;
mbarrier.init.shared::cta.b64 [%r3], 1;  // INIT
fence.mbarrier_init.release.cluster;  // INIT_FENCE
READY:
bar.sync 0;  // INIT_BARRIER
@%p1 bra WAIT;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 256;  // EXPECT
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 256, [%r3];  // COPY
WAIT:
mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0;  // TRY
@!%p2 bra WAIT;  // AGAIN
mad.lo.u32 %r4, %r1, 4, %r2; ld.shared.u32 %r5, [%r4];  // READ
mul.wide.u32 %rd3, %r1, 4; add.u64 %rd4, %rd2, %rd3; st.global.u32 [%rd4], %r5;
ret;)");
  return text;
}

Trial load(const std::string& text) {
  return {text, {input("in", 256), output("out", 256)}, {1, 1, 1}, {64, 1, 1}};
}
Trial load(std::string_view from, std::string_view to) { return load(replaced(load_text(), from, to)); }

TEST(Mbarrier, BulkLoad) {
  const Module module = parse_valid(load_text());
  std::vector<std::uint32_t> in(64);
  for (std::uint32_t i = 0; i < 64; ++i) in[i] = i * i + 3;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Memory memory;
    Options options;
    if (seed != 0) options.schedule = seed;
    const std::uint64_t a = memory.add_input("in", std::as_bytes(std::span(in))),
                        out = memory.add_output("out", 256);
    expect_clean(run(module, memory, {1, 1, 1}, {64, 1, 1}, Arguments().u64(a).u64(out), options));
    EXPECT_EQ(read_all<std::uint32_t>(memory, out, 64), in);
  }
  expect_clean(run(load("mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0;",
                        "mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 %p2, [%r3], 0;")));
  expect_clean(run(load("mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0;",
                        "mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0, 0x989680;")));
}

TEST(Mbarrier, ReadBeforeThePhaseEnds) {
  for (const auto& [from, to] : {std::pair{"@!%p2 bra WAIT;  // AGAIN", ""},  // one try is not a wait
                                 std::pair{"[%r3], 0;  // TRY", "[%r3], 1;  // TRY"}}) {  // wrong parity
    Trial trial = load(from, to);
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      if (seed != 0) trial.options.schedule = seed;
      bool found = false;
      for (const Finding& finding : run(trial).findings) {
        const bool pair = finding.place.ptx_line == line_of(trial.text, "// READ") && finding.other &&
                          finding.other->ptx_line == line_of(trial.text, "// COPY");
        const bool other_way = finding.place.ptx_line == line_of(trial.text, "// COPY") && finding.other &&
                               finding.other->ptx_line == line_of(trial.text, "// READ");
        found = found || (finding.check == Check::kSharedRace && (pair || other_way));
      }
      EXPECT_TRUE(found) << from << " seed " << seed;
    }
  }
}

TEST(Mbarrier, DeadlocksSayWhatIsMissing) {
  const struct {
    const char *from, *to, *says;
  } cases[] = {
      {"[%r3], 256;  // EXPECT", "[%r3], 272;  // EXPECT", "lacks 0 of 1 arrivals and 16 bytes"},
      {"[%r3], 256;  // EXPECT", "[%r3], 240;  // EXPECT", "16 bytes more were copied than expected"},
      {"[%r3], 1;  // INIT", "[%r3], 2;  // INIT", "lacks 1 of 2 arrivals"},
      {"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 256;  // EXPECT",
       "mbarrier.expect_tx.shared::cta.b64 [%r3], 256;", "lacks 1 of 1 arrivals"},
      {"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 256;  // EXPECT", "", "lacks 1 of 1 arrivals"},
      {"[%rd1], 256, [%r3];  // COPY", "[%rd1], 128, [%r3];  // COPY", "128 bytes of transactions"}};
  for (const auto& c : cases) {
    const Trial trial = load(c.from, c.to);
    const Finding finding = expect_finding(trial, run(trial), Check::kBarrierDeadlock, "// TRY");
    EXPECT_NE(finding.message.find(c.says), std::string::npos) << finding.message;
    EXPECT_NE(finding.message.find("'full'"), std::string::npos) << finding.message;
  }
}

TEST(Mbarrier, Initialisation) {
  const Trial unordered = load("bar.sync 0;  // INIT_BARRIER", "");
  bool found = false;  // used before it, or a race with it, as the order of warps has it
  for (const Finding& finding : run(unordered).findings) {
    found = found || finding.check == Check::kSharedRace || finding.check == Check::kMbarrier;
  }
  EXPECT_TRUE(found);
  const Trial unfenced = load("fence.mbarrier_init.release.cluster;  // INIT_FENCE", "");
  EXPECT_TRUE(expect_finding(unfenced, run(unfenced), Check::kProxyFence, "// COPY").formal);
  expect_clean(
      run(load("fence.mbarrier_init.release.cluster;  // INIT_FENCE", "fence.proxy.async.shared::cta;")));
  const Trial twice = load("fence.mbarrier_init.release.cluster;  // INIT_FENCE",
                           "mbarrier.init.shared::cta.b64 [%r3], 1;  // AGAIN_INIT\nfence.proxy.async;");
  EXPECT_TRUE(expect_finding(twice, run(twice), Check::kMbarrier, "// AGAIN_INIT").formal);
  expect_clean(run(load("fence.mbarrier_init.release.cluster;  // INIT_FENCE",
                        "mbarrier.inval.shared::cta.b64 [%r3];\nmbarrier.init.shared::cta.b64 [%r3], "
                        "1;\nfence.proxy.async;")));
  const Trial zero = load("[%r3], 1;  // INIT", "[%r3], 0;  // INIT");
  EXPECT_FALSE(run(zero).findings.empty());
}

// Half of the threads leave after the first phase; the others go on without them.
const std::string& drop_text() {
  static const std::string text = kernel(".param .u64 in, .param .u64 out", R"(
.shared .align 8 .b8 full[8];
mov.u32 %r1, %tid.x; mov.u32 %r3, full; ld.param.u64 %rd2, [out]; setp.ne.u32 %p1, %r1, 0; setp.ge.u32 %p3, %r1, 32;
@%p1 bra READY;
mbarrier.init.shared::cta.b64 [%r3], 64;
READY:
bar.sync 0;
@!%p3 bra STAY;
mbarrier.arrive_drop.shared::cta.b64 _, [%r3];  // DROP
ret;
STAY:
mbarrier.arrive.shared::cta.b64 %rd5, [%r3]; mbarrier.pending_count.b64 %r7, %rd5;
FIRST:
mbarrier.try_wait.shared::cta.b64 %p2, [%r3], %rd5;
@!%p2 bra FIRST;
mbarrier.arrive.shared::cta.b64 %rd6, [%r3]; mbarrier.pending_count.b64 %r8, %rd6;
SECOND:
mbarrier.try_wait.shared::cta.b64 %p2, [%r3], %rd6;  // SECOND_TRY
@!%p2 bra SECOND;
mad.lo.u32 %r9, %r7, 256, %r8; mul.wide.u32 %rd3, %r1, 4; add.u64 %rd4, %rd2, %rd3; st.global.u32 [%rd4], %r9;
ret;)");
  return text;
}

TEST(Mbarrier, ArrivalsThatDropOut) {
  const Module module = parse_valid(drop_text());
  Memory memory;
  const std::uint64_t in = memory.add_zeroed("in", 4), out = memory.add_output("out", 128);
  expect_clean(run(module, memory, {1, 1, 1}, {64, 1, 1}, Arguments().u64(in).u64(out)));
  // Lanes arrive one after the other, and the state has what was lacking before; the second phase lacks 32.
  const auto counts = read_all<std::uint32_t>(memory, out, 32);
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(counts[lane] % 256, 32 - lane) << lane;
    EXPECT_EQ(counts[lane] / 256 - (counts[0] / 256 - lane), 0u) << lane;
  }
  const Trial stays = load(replaced(drop_text(), "mbarrier.arrive_drop.shared::cta.b64 _, [%r3];",
                                    "mbarrier.arrive.shared::cta.b64 _, [%r3];"));
  const Finding finding = expect_finding(stays, run(stays), Check::kBarrierDeadlock, "// SECOND_TRY");
  EXPECT_NE(finding.message.find("lacks 32 of 64 arrivals"), std::string::npos) << finding.message;
}

// A bulk load whose phase nobody awaits.
TEST(Mbarrier, ALoadIsPendingAtTheEnd) {
  const Trial trial =
      load(replaced(replaced(load_text(), "@!%p2 bra WAIT;  // AGAIN", "ret;"), "WAIT:\n", "ret;\nWAIT:\n"));
  expect_finding(trial, run(trial), Check::kAsyncPending, "// COPY");
}

TEST(Mbarrier, ArrivedTooOften) {
  const Trial trial = load("WAIT:\n", "WAIT:\nmbarrier.arrive.shared::cta.b64 _, [%r3], 3;  // MANY\n");
  const LaunchReport report = run(trial);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].check, Check::kMbarrier);
  EXPECT_EQ(report.findings[0].place.ptx_line, line_of(trial.text, "// MANY"));
}

// States, counts and phases without copies: 64 threads arrive, each waits for the phase that it arrived in.
TEST(Mbarrier, StatesOrderAccesses) {
  const auto make = [](const char* wait) {
    return Trial{kernel(".param .u64 out", R"(
.shared .align 8 .b8 all[8];
.shared .align 4 .b8 tile[256];
mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mov.u32 %r3, all; ld.param.u64 %rd1, [out]; mov.u32 %r7, 0; mov.u32 %r8, 0;
setp.eq.u32 %p1, %r1, 0;
@%p1 mbarrier.init.shared.b64 [%r3], 64;
bar.sync 0;
mad.lo.u32 %r4, %r1, 4, %r2; xor.b32 %r5, %r1, 63; mad.lo.u32 %r5, %r5, 4, %r2;
ROUND:
st.shared.u32 [%r4], %r1;  // WRITE
mbarrier.arrive.shared.b64 %rd5, [%r3];
AGAIN:
)" + std::string(wait) +
                                               R"(
ld.shared.u32 %r6, [%r5];  // READ
add.u32 %r8, %r8, %r6;
mbarrier.arrive.shared.b64 %rd6, [%r3];
AGAIN2:
mbarrier.try_wait.shared.b64 %p3, [%r3], %rd6;
@!%p3 bra AGAIN2;
add.u32 %r7, %r7, 1; setp.lt.u32 %p4, %r7, 3;
@%p4 bra ROUND;
mul.wide.u32 %rd3, %r1, 4; add.u64 %rd4, %rd1, %rd3; st.global.u32 [%rd4], %r8;
ret;)"),
                 {output("out", 256)},
                 {1, 1, 1},
                 {64, 1, 1}};
  };
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Trial right = make("mbarrier.try_wait.shared.b64 %p2, [%r3], %rd5;\n@!%p2 bra AGAIN;");
    if (seed != 0) right.options.schedule = seed;
    expect_clean(run(right));
  }
  const Trial wrong = make("mbarrier.test_wait.shared.b64 %p2, [%r3], %rd5;");
  expect_race(wrong, run(wrong), Check::kSharedRace, "// WRITE", "// READ");
}

Trial pipeline(const std::string& text) {
  return {text, {input("in", 768), output("out", 128)}, {1, 1, 1}, {64, 1, 1}};
}

TEST(Mbarrier, PipelineIsCleanUnderEverySchedule) {
  const Module module = parse_valid(pipeline_text());
  std::vector<std::uint32_t> in(6 * 32), want(32);
  for (std::uint32_t i = 0; i < in.size(); ++i) want[i % 32] += in[i] = i * 2654435761u;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Memory memory;
    Options options;
    if (seed != 0) options.schedule = seed;
    const std::uint64_t a = memory.add_input("in", std::as_bytes(std::span(in))),
                        out = memory.add_output("out", 128);
    expect_clean(run(module, memory, {1, 1, 1}, {64, 1, 1}, Arguments().u64(a).u64(out), options));
    EXPECT_EQ(read_all<std::uint32_t>(memory, out, 32), want) << seed;
  }
}

TEST(Mbarrier, EveryStepOfThePipelineCounts) {
  const struct {
    const char *from, *to;
    Check check;
    const char *first, *second;  // the places of a race; none for a deadlock
  } cases[] = {
      {"@!%p3 bra P_WAIT;  // P_AGAIN", "", Check::kSharedRace, "// FILL", "// FILL"},
      {"xor.b32 %r12, %r12, 1;  // P_PARITY", "", Check::kBarrierDeadlock, nullptr, nullptr},
      {"mbarrier.arrive.shared::cta.b64 _, [%r14];  // RELEASE", "", Check::kBarrierDeadlock, nullptr,
       nullptr},
      {"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r13], 128;  // EXPECT",
       "mbarrier.arrive.shared::cta.b64 _, [%r13];", Check::kSharedRace, "// FILL", "// USE"},
      {"[%r13], 128;  // EXPECT", "[%r13], 64;  // EXPECT", Check::kBarrierDeadlock, nullptr, nullptr},
      // The stage is given back before it is read.
      {"ld.shared.u32 %r17, [%r16];  // USE\nadd.u32 %r20, %r20, %r17;\nmbarrier.arrive.shared::cta.b64 _, "
       "[%r14];  // "
       "RELEASE",
       "mbarrier.arrive.shared::cta.b64 _, [%r14];\nld.shared.u32 %r17, [%r16];  // USE\nadd.u32 %r20, %r20, "
       "%r17;",
       Check::kSharedRace, "// FILL", "// USE"},
  };
  for (const auto& c : cases) {
    const Trial trial = pipeline(replaced(pipeline_text(), c.from, c.to));
    const LaunchReport report = run(trial);
    bool found = false;
    for (const Finding& finding : report.findings) {
      if (finding.check != c.check) continue;
      if (c.first == nullptr) {
        found = true;
        continue;
      }
      const int a = line_of(trial.text, c.first), b = line_of(trial.text, c.second);
      const int here = finding.place.ptx_line, there = finding.other ? finding.other->ptx_line : 0;
      found = found || (here == a && there == b) || (here == b && there == a);
    }
    EXPECT_TRUE(found) << c.from << "\n" << describe(report);
  }
}

// The consumer's wait left out: it reads before the bytes are there, or what nobody has written at all.
TEST(Mbarrier, PipelineWithoutTheConsumersWait) {
  const std::string text = replaced(pipeline_text(), "@!%p3 bra C_WAIT;  // C_AGAIN", "");
  const Module module = parse_valid(text);
  const std::vector<std::uint32_t> in(6 * 32, 5);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Memory memory;
    Options options;
    if (seed != 0) options.schedule = seed;
    Launch what;
    what.entry = "kernel";
    what.block.x = 64;
    what.parameters = Arguments()
                          .u64(memory.add_input("in", std::as_bytes(std::span(in))))
                          .u64(memory.add_output("out", 128))
                          .bytes();
    int found = 0;
    for (const Finding& finding : launch_checked(module, memory, what, options).findings) {
      found += finding.check == Check::kSharedRace || finding.check == Check::kUninitialized;
    }
    EXPECT_GE(found, 1) << seed;
  }
}

// cp.async completes on an mbarrier: 32 threads copy, 32 read.
Trial copy_arrive(const char* arrive, const char* count) {
  return {kernel(".param .u64 in, .param .u64 out", R"(
.shared .align 16 .b8 tile[512];
.shared .align 8 .b8 full[8];
mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mov.u32 %r3, full; ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
and.b32 %r4, %r1, 31; mad.lo.u32 %r5, %r4, 16, %r2; setp.eq.u32 %p1, %r1, 0;
@%p1 mbarrier.init.shared.b64 [%r3], )" + std::string(count) +
                                                        R"(;
bar.sync 0;
setp.ge.u32 %p2, %r1, 32;
@%p2 bra READ;
mul.wide.u32 %rd3, %r4, 16; add.u64 %rd3, %rd1, %rd3;
cp.async.cg.shared.global [%r5], [%rd3], 16;  // COPY
)" + std::string(arrive) + R"(
bra END;
READ:
mbarrier.try_wait.parity.shared.b64 %p3, [%r3], 0;
@!%p3 bra READ;
ld.shared.u32 %r6, [%r5];  // READ
mul.wide.u32 %rd3, %r4, 4; add.u64 %rd3, %rd2, %rd3; st.global.u32 [%rd3], %r6;
END:
ret;)"),
          {input("in", 512), output("out", 128)},
          {1, 1, 1},
          {64, 1, 1}};
}

TEST(Mbarrier, CopiesArrive) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (Trial trial :
         {copy_arrive("cp.async.mbarrier.arrive.noinc.shared.b64 [%r3];", "32"),
          copy_arrive("cp.async.mbarrier.arrive.shared::cta.b64 [%r3];\nmbarrier.arrive.shared.b64 _, "
                      "[%r3];",
                      "32")}) {
      if (seed != 0) trial.options.schedule = seed;
      expect_clean(run(trial));
    }
  }
  // An ordinary arrival does not wait for the copies.
  const Trial wrong = copy_arrive("mbarrier.arrive.shared.b64 _, [%r3];", "32");
  LaunchReport report = run(wrong);
  std::erase_if(report.findings, [](const Finding& f) { return f.check == Check::kAsyncPending; });
  expect_race(wrong, report, Check::kSharedRace, "// COPY", "// READ");
}

// A test_wait does not block: who polls for a phase that never ends is deadlocked all the same.
TEST(Mbarrier, PollingForever) {
  const Trial trial = load(replaced(replaced(load_text(), "[%r3], 256;  // EXPECT", "[%r3], 272;  // EXPECT"),
                                    "mbarrier.try_wait.parity", "mbarrier.test_wait.parity"));
  const LaunchReport report = run(trial);
  ASSERT_EQ(report.findings.size(), 1u) << describe(report);
  EXPECT_EQ(report.findings[0].check, Check::kBarrierDeadlock);
  EXPECT_NE(report.findings[0].message.find("polls"), std::string::npos) << describe(report);
}

}  // namespace
}  // namespace moe4::ptx::test
