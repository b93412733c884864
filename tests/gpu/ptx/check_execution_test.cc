// Planted faults of execution: deadlock, divergent barriers, undefined operands, trap, budget.
#include <gtest/gtest.h>

#include "tests/gpu/ptx/check_support.h"

namespace moe4::ptx::test {
namespace {

Trial block_of(const std::string& body, std::uint32_t threads, std::uint32_t blocks = 1) {
  return {
      kernel(".param .u64 out",
             "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; ld.param.u64 %rd1, "
             "[out];\nmad.lo.u32 %r4, %r2, %r3, %r1; mul.wide.u32 %rd2, %r4, 4; add.u64 %rd2, %rd1, %rd2;\n" +
                 body + "\nst.global.u32 [%rd2], %r1;\nret;"),
      {output("out", std::uint64_t{4} * threads * blocks)},
      {blocks, 1, 1},
      {threads, 1, 1}};
}

TEST(BarrierDeadlock, WarpsWaitAtDifferentBarriers) {
  const auto make = [](const char* second) {
    return block_of(std::string("setp.lt.u32 %p1, %r1, 32;\n@%p1 bra FIRST;\nbar.sync ") + second +
                        ";  // OTHER\nbra JOIN;\nFIRST:\nbar.sync 1;  // HERE\nJOIN:",
                    64, 2);
  };
  const Trial trial = make("2");
  const LaunchReport report = run(trial);
  EXPECT_FALSE(report.completed);
  ASSERT_FALSE(report.findings.empty());
  const int here = line_of(trial.text, "HERE"), other = line_of(trial.text, "OTHER");
  for (const Finding& finding : report.findings) {
    EXPECT_EQ(finding.check, Check::kBarrierDeadlock) << to_string(finding);
    EXPECT_TRUE(finding.place.ptx_line == here || finding.place.ptx_line == other) << to_string(finding);
  }
  expect_clean(run(make("1")));
}

TEST(BarrierDeadlock, CountThatNeverFills) {
  const Trial trial = block_of("bar.sync 1, 96;  // HERE", 64);
  const LaunchReport report = run(trial);
  expect_finding(trial, report, Check::kBarrierDeadlock, "HERE", Dim3{0, 0, 0});
  EXPECT_FALSE(report.completed);
  expect_clean(run(block_of("bar.sync 1, 64;", 64)));
}

TEST(BarrierDeadlock, OneWarpGoesRoundOnceMore) {
  const auto make = [](const char* extra) {
    return block_of(std::string("mov.u32 %r5, 3;\nsetp.ge.u32 %p1, %r1, 32;\n@%p1 add.u32 %r5, %r5, ") +
                        extra +
                        ";\nLOOP:\nbar.sync 0;  // HERE\nsub.u32 %r5, %r5, 1;\nsetp.ne.u32 %p2, %r5, "
                        "0;\n@%p2 bra LOOP;\nbar.sync 1;  // LAST",
                    64);
  };
  const Trial trial = make("1");
  const LaunchReport report = run(trial);
  EXPECT_FALSE(report.completed);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].check, Check::kBarrierDeadlock) << describe(report);
  expect_clean(run(make("0")));
}

TEST(BarrierDivergence, PartOfAWarp) {
  const auto make = [](const char* limit) {
    return block_of(
        std::string("setp.lt.u32 %p1, %r1, ") + limit + ";\n@!%p1 bra SKIP;\nbar.sync 1, 32;  // HERE\nSKIP:",
        64);
  };
  const Trial trial = make("16");
  const LaunchReport report = run(trial);
  bool divergence = false;
  for (const Finding& finding : report.findings)
    divergence |=
        finding.check == Check::kBarrierDivergence && finding.place.ptx_line == line_of(trial.text, "HERE");
  EXPECT_TRUE(divergence) << describe(report);
  expect_clean(run(make("32")));
}

TEST(BarrierDivergence, TwoBarriersForTwoHalves) {
  const auto make = [](const char* bit) {
    return block_of(std::string("and.b32 %r5, %r1, ") + bit +
                        ";\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra EVEN;\nbar.sync 0;  // ODD\nbra "
                        "JOIN;\nEVEN:\nbar.sync 0;  // EVEN\nJOIN:",
                    64);
  };
  const Trial trial = make("1");
  const LaunchReport report = run(trial);
  bool divergence = false;
  for (const Finding& finding : report.findings) divergence |= finding.check == Check::kBarrierDivergence;
  EXPECT_TRUE(divergence) << describe(report);
  expect_clean(run(make("32")));
}

// barrier.sync without .aligned may be reached by the lanes of a warp in turn.
TEST(BarrierDivergence, UnalignedFormMayDiverge) {
  expect_clean(
      run(block_of("and.b32 %r5, %r1, 1;\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra EVEN;\nbarrier.sync 0;\nbra "
                   "JOIN;\nEVEN:\nbarrier.sync 0;\nJOIN:",
                   64)));
}

TEST(InvalidOperand, IntegerDivisionByZero) {
  for (const std::string op : {"div.s32", "div.u32", "rem.s32", "rem.u32"}) {
    const auto make = [&](const char* subtract) {
      return block_of(std::string("sub.u32 %r5, %r1, ") + subtract + ";\n" + op +
                          " %r6, 100, %r5;  // HERE\nst.global.u32 [%rd2], %r6;",
                      40);
    };
    const Trial trial = make("35");
    expect_finding(trial, run(trial), Check::kInvalidOperand, "HERE", Dim3{0, 0, 0}, Dim3{35, 0, 0});
    expect_clean(run(make("-1")));
  }
  for (const std::string op : {"div.s64", "rem.u64"}) {
    const Trial trial =
        block_of("cvt.u64.u32 %rd5, %r1;\nmov.u64 %rd6, 9;\n" + op + " %rd7, %rd6, %rd5;  // HERE", 2);
    expect_finding(trial, run(trial), Check::kInvalidOperand, "HERE", Dim3{0, 0, 0}, Dim3{0, 0, 0});
  }
}

TEST(InvalidOperand, PredicatedOffDivisionIsNoDivision) {
  expect_clean(run(block_of(
      "setp.ne.u32 %p1, %r1, 0;\nmov.u32 %r6, 0;\n@%p1 div.u32 %r6, 100, %r1;\nst.global.u32 [%rd2], %r6;",
      40)));
}

TEST(InvalidOperand, ShuffleFromAnInactiveLane) {
  const auto make = [](const char* lane) {
    return block_of(std::string("setp.lt.u32 %p1, %r1, 16;\n@!%p1 bra SKIP;\nshfl.sync.idx.b32 %r5, %r1, ") +
                        lane + ", 31, 0x0000ffff;  // HERE\nst.global.u32 [%rd2], %r5;\nSKIP:",
                    32);
  };
  const Trial trial = make("20");
  expect_finding(trial, run(trial), Check::kInvalidOperand, "HERE", Dim3{0, 0, 0});
  expect_clean(run(make("7")));
}

// A lane that is not in the mask it passes is undefined behaviour.
TEST(InvalidOperand, ExecutingLaneOutsideItsMask) {
  const auto make = [](const char* mask) {
    return block_of(
        std::string("vote.sync.ballot.b32 %r5, 1, ") + mask + ";  // HERE\nst.global.u32 [%rd2], %r5;", 32);
  };
  const Trial trial = make("0x0000ffff");
  const LaunchReport report = run(trial);
  expect_finding(trial, report, Check::kInvalidOperand, "HERE", Dim3{0, 0, 0});
  expect_clean(run(make("0xffffffff")));
}

TEST(Trap, ReachedOrNot) {
  const auto make = [](const char* limit) {
    return block_of(
        std::string("setp.lt.u32 %p1, %r4, ") + limit + ";\n@%p1 bra FINE;\ntrap;  // HERE\nFINE:", 32, 3);
  };
  const Trial trial = make("90");
  const LaunchReport report = run(trial);
  expect_finding(trial, report, Check::kTrap, "HERE", Dim3{2, 0, 0}, Dim3{26, 0, 0});
  EXPECT_FALSE(report.completed);
  expect_clean(run(make("96")));
}

TEST(Budget, EndlessLoopEnds) {
  const auto make = [](const char* step) {
    Trial trial = block_of(std::string("mov.u32 %r5, 1000;\nLOOP:\nsub.u32 %r5, %r5, ") + step +
                               ";\nsetp.ne.u32 %p1, %r5, 0;\n@%p1 bra LOOP;",
                           64, 2);
    trial.options.instruction_budget = 100000;
    return trial;
  };
  const LaunchReport report = run(make("0"));
  EXPECT_FALSE(report.completed);
  ASSERT_EQ(report.findings.size(), 1u) << describe(report);
  EXPECT_EQ(report.findings[0].check, Check::kBudget) << describe(report);
  EXPECT_GT(report.findings[0].place.ptx_line, 0);
  EXPECT_LE(report.counters.warp_instructions, 4u * 100000);
  expect_clean(run(make("1")));
}

TEST(Budget, SpinOnAFlagNobodySets) {
  Trial trial =
      block_of("LOOP:\nld.acquire.gpu.global.u32 %r5, [%rd1];\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra LOOP;", 1);
  trial.buffers[0] = zeroed("out", 4);
  trial.options.instruction_budget = 100000;
  const LaunchReport report = run(trial);
  EXPECT_FALSE(report.completed);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_TRUE(report.findings[0].check == Check::kBudget ||
              report.findings[0].check == Check::kBarrierDeadlock)
      << describe(report);
}

TEST(Findings, AreMergedByInstructionAndLimited) {
  std::string body;
  for (int i = 0; i < 30; ++i) body += "st.global.u32 [%rd2+" + std::to_string(4096 + 4 * i) + "], %r1;\n";
  Trial trial = block_of(body, 64);
  trial.options.max_findings = 5;
  const LaunchReport report = run(trial);
  EXPECT_GE(report.findings.size(), 1u);
  EXPECT_LE(report.findings.size(), 5u);
  for (std::size_t i = 0; i < report.findings.size(); ++i)
    for (std::size_t k = i + 1; k < report.findings.size(); ++k)
      EXPECT_FALSE(report.findings[i].check == report.findings[k].check &&
                   report.findings[i].place.ptx_line == report.findings[k].place.ptx_line);
}

TEST(Findings, CheckNamesAreDistinctWords) {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(Check::kBudget); ++i) {
    const std::string name(name_of(static_cast<Check>(i)));
    EXPECT_FALSE(name.empty());
    EXPECT_EQ(name.find_first_of(" \n"), std::string::npos);
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 0);
    names.push_back(name);
  }
  EXPECT_EQ(name_of(Check::kOutOfBounds), "out-of-bounds");
}

TEST(Findings, NameTheCudaLineWhereLocSaysSo) {
  const auto make = [](const char* offset) {
    return Trial{
        module_header() + ".file 1 \"kernels/store.cu\"\n.file 2 \"other.cu\"\n" +
            entry("kernel", ".param .u64 out",
                  std::string(".loc 2 5 1\nld.param.u64 %rd1, [out];\n.loc 1 17 3\nst.global.u32 [%rd1+") +
                      offset + "], 1;  // HERE\n.loc 2 90 1\nret;"),
        {output("out", 8)},
        {1, 1, 1},
        {1, 1, 1}};
  };
  const Trial trial = make("8");
  const Finding finding = expect_finding(trial, run(trial), Check::kOutOfBounds, "HERE");
  EXPECT_EQ(finding.place.source_file, "kernels/store.cu");
  EXPECT_EQ(finding.place.source_line, 17);
  EXPECT_NE(to_string(finding).find("store.cu"), std::string::npos) << to_string(finding);
  expect_clean(run(make("4")));
}

}  // namespace
}  // namespace moe4::ptx::test
