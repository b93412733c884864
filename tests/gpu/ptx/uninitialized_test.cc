// Reads of memory and registers that nothing wrote: a finding when an output, a branch or an address depends
// on them, none when the values change nothing.
#include "gpu/ptx/uninitialized.h"

#include <gtest/gtest.h>

#include "tests/gpu/ptx/check_support.h"

namespace moe4::ptx::test {
namespace {

struct Case {
  std::string text;
  std::uint32_t threads = 32, blocks = 1;
  int patterns = 2;
};

// %r1 thread, %r2 tile, %r3 own cell, %rd3 own output word, %rd5 = scratch, %rd6 = own scratch word.
Case make(const std::string& body, std::uint32_t threads = 32) {
  return {kernel(".param .u64 out, .param .u64 scratch",
                 ".shared .align 16 .b8 tile[4096];\n.local .align 16 .b8 depot[64];\nmov.u32 %r1, %tid.x; "
                 "mov.u32 %r2, tile; mad.lo.u32 %r3, %r1, 4, %r2;\n"
                 "ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; "
                 "ld.param.u64 %rd5, [scratch]; add.u64 %rd6, %rd5, %rd2;\n" +
                     body + "\nst.global.u32 [%rd3], %r20;  // OUTPUT\nret;"),
          threads};
}

LaunchReport run(const Case& c, Options options = {}, std::vector<std::uint32_t>* result = nullptr) {
  const Module module = parse_valid(c.text);
  Memory memory;
  const std::uint64_t out = memory.add_output("out", 4 * c.threads),
                      scratch = memory.add_output("scratch", 4096);
  Launch what;
  what.entry = "kernel";
  what.grid = {c.blocks, 1, 1};
  what.block = {c.threads, 1, 1};
  what.parameters = Arguments().u64(out).u64(scratch).bytes();
  const CountedRange counted[] = {{out, 4 * c.threads}};
  const LaunchReport report = launch_checked(module, memory, what, options, counted, c.patterns);
  if (result) *result = read_all<std::uint32_t>(memory, out, c.threads);
  return report;
}

// The finding names the load at `source` and, where given, the place where it mattered at `use`.
Finding expect_uninitialized(const Case& c, std::string_view source, std::string_view use = {}) {
  const LaunchReport report = run(c);
  EXPECT_FALSE(report.error.has_value()) << describe(report);
  const int line = line_of(c.text, source);
  for (const Finding& finding : report.findings) {
    if (finding.check != Check::kUninitialized || finding.place.ptx_line != line) continue;
    EXPECT_EQ(finding.kernel, "kernel");
    if (!use.empty()) {
      EXPECT_TRUE(finding.other.has_value()) << to_string(finding);
      if (finding.other) {
        EXPECT_EQ(finding.other->ptx_line, line_of(c.text, use)) << to_string(finding);
      }
    }
    return finding;
  }
  ADD_FAILURE() << "no uninitialized at line " << line << "; the report:\n"
                << describe(report) << "\n"
                << c.text;
  return {};
}

TEST(Uninitialized, SharedCellsThatSomeThreadsForgot) {
  const auto with_limit = [](const char* limit) {
    return make(std::string("setp.lt.u32 %p1, %r1, ") + limit +
                ";\n@%p1 st.shared.u32 [%r3], %r1;\nbar.sync 0;\nld.shared.u32 %r20, [%r3];  // SOURCE");
  };
  const Finding finding = expect_uninitialized(with_limit("31"), "SOURCE", "OUTPUT");
  EXPECT_EQ(finding.place.thread, (Dim3{31, 0, 0})) << to_string(finding);
  expect_clean(run(with_limit("32")));
}

TEST(Uninitialized, OutputReadBeforeItIsWritten) {
  expect_uninitialized(make("ld.global.u32 %r21, [%rd3];  // SOURCE\nadd.u32 %r20, %r21, 1;"), "SOURCE",
                       "OUTPUT");
  expect_clean(run(make("st.global.u32 [%rd3], 4;\nld.global.u32 %r21, [%rd3];\nadd.u32 %r20, %r21, 1;")));
}

TEST(Uninitialized, LocalMemory) {
  const auto with_store = [](const char* place) {
    return make(std::string("mov.u32 %r22, 6;\nst.local.u32 [depot+") + place +
                "], %r22;\nld.local.u32 %r20, [depot+12];  // SOURCE");
  };
  expect_uninitialized(with_store("8"), "SOURCE", "OUTPUT");
  expect_clean(run(with_store("12")));
}

TEST(Uninitialized, Registers) {
  const auto with_guard = [](const char* limit) {
    return make(std::string("setp.lt.u32 %p1, %r1, ") + limit +
                ";\n@%p1 mov.u32 %r30, 5;\nadd.u32 %r20, %r30, 1;  // SOURCE");
  };
  const LaunchReport report = run(with_guard("20"));
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].check, Check::kUninitialized) << describe(report);
  EXPECT_EQ(report.findings[0].place.thread, (Dim3{20, 0, 0})) << describe(report);
  expect_clean(run(with_guard("32")));
}

TEST(Uninitialized, Predicates) {
  const auto with_limit = [](const char* limit) {
    return make(std::string("setp.lt.u32 %p1, %r1, ") + limit +
                ";\n@%p1 setp.eq.u32 %p2, %r1, 3;\nselp.u32 %r20, 10, 20, %p2;");
  };
  const LaunchReport report = run(with_limit("9"));
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].check, Check::kUninitialized) << describe(report);
  expect_clean(run(with_limit("32")));
}

TEST(Uninitialized, BranchDependsOnIt) {
  const auto with_cell = [](const char* cell) {
    return make(std::string("setp.eq.u32 %p1, %r1, 0;\n@%p1 st.shared.u32 [tile], 1;\nbar.sync "
                            "0;\nld.shared.u32 %r21, [tile+") +
                cell +
                "];  // SOURCE\nsetp.gt.u32 %p2, %r21, 100;\nmov.u32 %r20, 1;\n@%p2 bra SAME;  // "
                "BRANCH\nmov.u32 %r20, 1;\nSAME:");
  };
  expect_uninitialized(with_cell("64"), "SOURCE", "BRANCH");
  expect_clean(run(with_cell("0")));
}

TEST(Uninitialized, AddressDependsOnIt) {
  const auto with_cell = [](const char* cell) {
    return make(std::string("setp.eq.u32 %p1, %r1, 0;\n@%p1 st.shared.u32 [tile], 4;\n@%p1 st.shared.u32 "
                            "[tile+4], 4;\nbar.sync 0;\nld.shared.u32 %r21, [tile+") +
                cell +
                "];  // SOURCE\nand.b32 %r21, %r21, 4;\nadd.u32 %r22, %r2, %r21;\nld.shared.u32 %r20, "
                "[%r22];  // ADDRESS");
  };
  const LaunchReport report = run(with_cell("64"));
  ASSERT_FALSE(report.findings.empty()) << describe(report);
  bool found = false;
  for (const Finding& finding : report.findings)
    found |= finding.check == Check::kUninitialized &&
             finding.place.ptx_line == line_of(with_cell("64").text, "SOURCE");
  EXPECT_TRUE(found) << describe(report);
  expect_clean(run(with_cell("0")));
}

// NaN loses in min and max, and zero hides behind a positive maximum: such a kernel needs the third pattern.
TEST(Uninitialized, MaximumAndMinimumWithIt) {
  for (const std::string op : {"max.f32", "min.f32"}) {
    const auto with_order = [&](const char* order) {
      Case c = make(std::string("mov.f32 %f1, 0f3F800000;\nmov.f32 %f2, 0f40000000;\n") + order + op +
                    " %f3, %f1, %f2;\nmov.b32 %r20, %f3;");
      c.patterns = 3;
      return c;
    };
    expect_uninitialized(with_order("ld.shared.f32 %f2, [%r3];  // SOURCE\n"), "SOURCE", "OUTPUT");
    expect_clean(run(with_order("st.shared.f32 [%r3], %f2;\nld.shared.f32 %f2, [%r3];\n")));
  }
}

TEST(Uninitialized, ThroughArithmeticShufflesAndOtherMemory) {
  const auto with_limit = [](const char* limit) {
    return make(std::string("setp.lt.u32 %p1, %r1, ") + limit +
                ";\n@%p1 st.shared.u32 [%r3], %r1;\nbar.sync 0;\nld.shared.u32 %r21, [%r3];  // "
                "SOURCE\ncvt.rn.f32.u32 %f1, %r21;\nfma.rn.f32 %f2, %f1, 0f40000000, 0f3F800000;\n"
                "mov.b32 %r22, %f2;\nst.global.u32 [%rd6], %r22;\nst.shared.u32 [%r3+1024], %r22;\nbar.sync "
                "0;\nld.shared.u32 %r23, [%r3+1024];\nshfl.sync.bfly.b32 %r24, %r23, 31, 31, "
                "-1;\nld.global.u32 %r25, [%rd6];\nxor.b32 %r20, %r24, %r25;");
  };
  expect_uninitialized(with_limit("31"), "SOURCE", "OUTPUT");
  expect_clean(run(with_limit("32")));
}

TEST(Uninitialized, FloatAccumulator) {
  const auto with_start = [](const char* start) {
    return make(std::string(start) +
                "mov.u32 %r21, 0;\nLOOP:\ncvt.rn.f32.u32 %f2, %r21;\nadd.rn.f32 %f1, %f1, %f2;\nadd.u32 "
                "%r21, %r21, 1;\nsetp.lt.u32 %p1, %r21, 5;\n@%p1 bra LOOP;\nmov.b32 %r20, %f1;");
  };
  const LaunchReport report = run(with_start(""));
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].check, Check::kUninitialized);
  expect_clean(run(with_start("mov.f32 %f1, 0f00000000;\n")));
}

// ---- harmless stale reads
// -----------------------------------------------------------------------------------------

TEST(Uninitialized, LoadedButUnusedIsNoFinding) {
  expect_clean(
      run(make("ld.shared.u32 %r21, [%r3];\nld.global.u32 %r22, [%rd3];\nadd.u32 %r23, %r21, %r22;\nmov.u32 "
               "%r20, 1;")));
}

TEST(Uninitialized, SelectedAwayIsNoFinding) {
  const auto with_limit = [](const char* limit) {
    return make(std::string("setp.lt.u32 %p1, %r1, 16;\n@%p1 st.shared.u32 [%r3], %r1;\nld.shared.u32 %r21, "
                            "[%r3];  // SOURCE\nsetp.lt.u32 %p2, %r1, ") +
                limit + ";\nselp.u32 %r20, %r21, 0, %p2;");
  };
  expect_clean(run(with_limit("16")));
  expect_uninitialized(with_limit("17"), "SOURCE", "OUTPUT");
}

TEST(Uninitialized, MaskedAwayIsNoFinding) {
  const auto with_mask = [](const char* mask) {
    return make(
        std::string("st.shared.u16 [%r3], 77;\nld.shared.u32 %r21, [%r3];  // SOURCE\nand.b32 %r20, %r21, ") +
        mask + ";");
  };
  expect_clean(run(with_mask("0xffff")));
  expect_uninitialized(with_mask("0x1ffff"), "SOURCE", "OUTPUT");
}

TEST(Uninitialized, UnusedLanesOfAVectorAreNoFinding) {
  const auto with_use = [](const char* use) {
    return make(std::string("shl.b32 %r21, %r1, 4; add.u32 %r21, %r21, %r2;\nst.shared.v2.u32 [%r21], {%r1, "
                            "7};\nst.shared.u32 [%r21+8], 9;\nld.shared.v4.u32 {%r22, %r23, %r24, %r25}, "
                            "[%r21];  // SOURCE\nadd.u32 %r20, %r22, ") +
                use + ";");
  };
  expect_clean(run(with_use("%r24")));
  expect_uninitialized(with_use("%r25"), "SOURCE", "OUTPUT");
}

TEST(Uninitialized, UncountedScratchIsNoFinding) {
  const auto with_store = [](const char* address) {
    return make(std::string("ld.shared.u32 %r21, [%r3];  // SOURCE\nmov.u32 %r20, 1;\nst.global.u32 [") +
                address + "], %r21;\nst.global.u32 [%rd3], 1;");
  };
  expect_clean(run(with_store("%rd6")));
}

TEST(Uninitialized, OverwrittenOutputIsNoFinding) {
  expect_clean(run(make("ld.shared.u32 %r21, [%r3];\nst.global.u32 [%rd3], %r21;\nmov.u32 %r20, 1;")));
}

TEST(Uninitialized, BranchThatEndsTheSameWayOnBothPatternsOnly) {
  // The value is compared with itself: no pattern changes it.
  expect_clean(
      run(make("ld.shared.u32 %r21, [%r3];\nsetp.eq.u32 %p1, %r21, %r21;\nmov.u32 %r20, 2;\n@%p1 bra "
               "SAME;\nmov.u32 %r20, 1;\nSAME:")));
}

// Outputs that nobody writes are not compared: they are the judge's matter.
TEST(Uninitialized, UnwrittenOutputIsNoFinding) {
  const Case c{kernel(".param .u64 out, .param .u64 scratch",
                      "mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r1, 4; add.u64 "
                      "%rd1, %rd1, %rd2; setp.lt.u32 %p1, %r1, 9;\n@%p1 st.global.u32 [%rd1], %r1;\nret;")};
  std::vector<std::uint32_t> result;
  expect_clean(run(c, {}, &result));
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(result[i], i < 9 ? i : 0xffffffffu);
}

TEST(Uninitialized, ResultIsThatOfOneLaunch) {
  std::vector<std::uint32_t> result;
  const Case c =
      make("atom.global.add.u32 %r21, [%rd6], 1;\nadd.u32 %r20, %r1, 5;");  // scratch holds poison + 1
  Options options;
  options.poison = std::byte{0x11};
  run(c, options, &result);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(result[i], i + 5);
}

TEST(Uninitialized, OtherFindingsAreKept) {
  const Case race = make(
      "st.shared.u32 [%r3], %r1;\nxor.b32 %r21, %r1, 32; mad.lo.u32 %r22, %r21, 4, %r2;\nld.shared.u32 %r20, "
      "[%r22];",
      64);
  const LaunchReport report = run(race);
  bool found = false;
  for (const Finding& finding : report.findings) found |= finding.check == Check::kSharedRace;
  EXPECT_TRUE(found) << describe(report);
  const Case bounds = make("st.global.u32 [%rd6+8192], %r1;\nmov.u32 %r20, 1;");
  const LaunchReport out = run(bounds);
  ASSERT_FALSE(out.findings.empty());
  EXPECT_EQ(out.findings[0].check, Check::kOutOfBounds);
}

TEST(Uninitialized, OffWithChecksOff) {
  Options options;
  options.checks = false;
  EXPECT_TRUE(run(make("ld.shared.u32 %r20, [%r3];"), options).findings.empty());
}

// Without ranges every writable buffer counts.
TEST(Uninitialized, AllBuffersCountByDefault) {
  const Case c = make("ld.shared.u32 %r21, [%r3];  // SOURCE\nst.global.u32 [%rd6], %r21;\nmov.u32 %r20, 1;");
  const Module module = parse_valid(c.text);
  Memory memory;
  const std::uint64_t out = memory.add_output("out", 128), scratch = memory.add_output("scratch", 4096);
  Launch what;
  what.entry = "kernel";
  what.block = {32, 1, 1};
  what.parameters = Arguments().u64(out).u64(scratch).bytes();
  const LaunchReport report = launch_checked(module, memory, what, {});
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].check, Check::kUninitialized);
  EXPECT_EQ(report.findings[0].place.ptx_line, line_of(c.text, "SOURCE"));
}

// A second launch reads what the first one wrote, and only that.
TEST(Uninitialized, WrittenByAnEarlierLaunch) {
  const Module module = parse_valid(
      module_header() +
      entry("half", ".param .u64 a", "ld.param.u64 %rd1, [a]; st.global.u32 [%rd1], 5;\nret;") +
      entry("sum", ".param .u64 a, .param .u64 b, .param .u32 at",
            "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u32 %r1, [at]; mul.wide.u32 %rd3, %r1, "
            "4; add.u64 %rd1, %rd1, %rd3; ld.global.u32 %r2, [%rd1]; st.global.u32 [%rd2], %r2;\nret;"));
  Memory memory;
  const std::uint64_t a = memory.add_output("a", 8), b = memory.add_output("b", 4);
  expect_clean(run(module, memory, {1, 1, 1}, {1, 1, 1}, Arguments().u64(a), {}, 0, "half"));
  Launch what;
  what.entry = "sum";
  what.parameters = Arguments().u64(a).u64(b).u32(0).bytes();
  expect_clean(launch_checked(module, memory, what, {}));
  what.parameters = Arguments().u64(a).u64(b).u32(1).bytes();
  const LaunchReport report = launch_checked(module, memory, what, {});
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].check, Check::kUninitialized);
}

}  // namespace
}  // namespace moe4::ptx::test
