// Mutants of a small kernel: what kills which, what survives, and what the ledger may excuse.
#include <gtest/gtest.h>

#include <algorithm>

#include "gpu/launch/arguments.h"
#include "oracle/mutation/kill_table.h"
#include "oracle/subject/gpu/executor_subject.h"
#include "oracle/subject/gpu/mutation_run.h"

namespace moe4::oracle {
namespace {

constexpr const char* kDeclaration =
    R"({"schema": 1, "name": "copy", "op": "expert_linear", "weights": "mxfp4",
    "dtypes": ["bf16"], "profile": "once", "order": "seq"})";

// Without experts the norm is shared_output itself: 64 threads hand 64 BF16 values through shared memory,
// each to the thread with the opposite number. %r9 is used by nothing.
constexpr const char* kCopy = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry copy(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3, .param .u64 p4,
  .param .u64 p5, .param .u64 p6, .param .u64 p7, .param .u64 p8, .param .u64 p9, .param .u64 p10, .param .u64 p11)
{
.reg .pred %p<3>;
.reg .b16 %h<3>;
.reg .b32 %r<12>;
.reg .b64 %rd<8>;
.shared .align 4 .b8 tile[128];
ld.param.u64 %rd1, [p5];
ld.param.u64 %rd2, [p6];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd3, %r1, 2;
add.s64 %rd4, %rd1, %rd3;
ld.global.u16 %h1, [%rd4];
mov.u32 %r2, tile;
xor.b32 %r3, %r1, 63;
mad.lo.u32 %r4, %r3, 2, %r2;
st.shared.u16 [%r4], %h1;
bar.sync 0, 64;
mad.lo.u32 %r5, %r1, 2, %r2;
ld.shared.u16 %h2, [%r5];
xor.b32 %r8, %r1, 63;
mul.wide.u32 %rd5, %r8, 2;
add.s64 %rd6, %rd2, %rd5;
add.s16x2 %r9, %r1, %r3;
setp.ge.u32 %p1, %r1, 64;
@%p1 bra DONE;
st.global.u16 [%rd6], %h2;
DONE:
ret;
}
)";

std::optional<gpu::KernelLaunch> plan(const gpu::Variant& variant, const gpu::LaunchShape& shape,
                                      const gpu::TensorBuffers& buffers) {
  gpu::KernelLaunch launch;
  launch.ptx = variant.ptx;
  launch.entry = "copy";
  launch.block = {static_cast<std::uint32_t>(shape.tokens * shape.out), 1, 1};
  launch.arguments = gpu::arguments_of(variant, shape, buffers);
  return launch;
}

PtxProgram program_of(std::string ptx) {
  PtxProgram program;
  program.ptx = std::move(ptx);
  program.entry = "copy";
  program.make = [](std::string_view text, std::unique_ptr<gpu::Device> device) {
    return make_executor_subject(gpu::Variant{"copy", "bf16", "copy.ptx", kDeclaration, text, plan},
                                 std::move(device));
  };
  return program;
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const char* line : {"op=expert_linear weights=mxfp4 tokens=2 experts=1 top_k=0 in=32 out=32 "
                           "dtype=bf16 fill=exact8 seed=0x1",
                           "op=expert_linear weights=mxfp4 tokens=1 experts=1 top_k=0 in=32 out=64 "
                           "dtype=bf16 fill=exact8 seed=0x2"})
    list.push_back(*parse_case(line));
  return list;
}

MutationReport report_of(const MutationOptions& options = {}) {
  Result<MutationReport> report = run_mutants(program_of(kCopy), cases(), options);
  EXPECT_TRUE(report.ok()) << report.error().message();
  return report.ok() ? *report : MutationReport{};
}

const MutantOutcome* find(const MutationReport& report, const std::string& part) {
  for (const MutantOutcome& mutant : report.mutants) {
    if (mutant.diff.find(part) != std::string::npos) return &mutant;
  }
  ADD_FAILURE() << "no mutant " << part;
  return nullptr;
}

TEST(MutationRun, EachFaultIsKilledByWhatSeesIt) {
  const MutationReport report = report_of();
  EXPECT_EQ(report.cases, 2);
  EXPECT_EQ(report.count(Fate::kNotRun), 0);
  const auto by = [&](const std::string& part) { return find(report, part)->by; };
  EXPECT_EQ(by("- bar.sync 0, 64;"), "shared-race");
  EXPECT_EQ(by("+ bar.sync 0, 96;"), "barrier-deadlock");
  EXPECT_EQ(by("+ ld.param.u64 %rd1, [p5+8];"), "uninitialized");  // it reads the output instead
  EXPECT_EQ(by("+ ld.global.u16 %h1, [%rd4+2];"), "out-of-bounds");
  EXPECT_EQ(by("+ xor.b32 %r8, %r1, 62;"), "mismatch");
  EXPECT_EQ(by("+ bra DONE;"), "unwritten");
  EXPECT_EQ(find(report, "+ sub.s16x2 %r9, %r1, %r3;")->fate, Fate::kRefused);
  // Threads beyond the 64th do not exist.
  EXPECT_EQ(find(report, "+ setp.gt.u32 %p1, %r1, 64;")->fate, Fate::kSurvived);
  EXPECT_EQ(find(report, "+ setp.ge.u32 %p1, %r1, 65;")->fate, Fate::kSurvived);
}

TEST(MutationRun, LedgerExcusesAndIsCheckedItself) {
  const std::string line =
      std::to_string(1 + std::count(kCopy, std::string_view(kCopy).find("setp.ge") + kCopy, '\n'));
  const std::string statement = "setp.ge.u32 %p1, %r1, 64;";
  MutationOptions options;
  options.ledger["copy"] = {{"compare:" + line + ":gt", statement, "there are 64 threads"}};
  MutationReport report = report_of(options);
  EXPECT_TRUE(report.ledger_errors.empty());
  EXPECT_EQ(report.count(Fate::kSurvived), report_of().count(Fate::kSurvived) - 1);
  EXPECT_EQ(kill_table(report).find("compare:" + line + ":gt"), std::string::npos);

  options.ledger["copy"] = {{"compare:" + line + ":gt", "setp.ge.u32 %p1, %r1, 63;", "another statement"},
                            {"compare:1:gt", statement, "no such line"},
                            {"swap:" + line + ":op1,op2", statement, "not equivalent at all"}};
  report = report_of(options);
  ASSERT_EQ(report.ledger_errors.size(), 3u);
  EXPECT_NE(report.ledger_errors[0].find("the statement is now \"" + statement), std::string::npos);
  EXPECT_NE(report.ledger_errors[1].find("there is no such mutant"), std::string::npos);
  EXPECT_NE(report.ledger_errors[2].find("but killed (unwritten)"), std::string::npos);
  EXPECT_FALSE(report.passed());
}

TEST(MutationRun, KindsLimitAndSeedChoose) {
  MutationOptions options;
  options.kinds = {ptx::Mutation::kBarrier, ptx::Mutation::kCount};
  EXPECT_EQ(report_of(options).mutants.size(), 3u);
  EXPECT_DOUBLE_EQ(report_of(options).kill_rate(), 1.0);
  EXPECT_TRUE(report_of(options).passed());
  options = {};
  options.limit = 5;
  const auto names = [](const MutationReport& report) {
    std::vector<std::string> list;
    for (const MutantOutcome& mutant : report.mutants) list.push_back(mutant.name);
    return list;
  };
  const auto first = names(report_of(options));
  EXPECT_EQ(first.size(), 5u);
  EXPECT_EQ(first, names(report_of(options)));
  options.seed = 2;
  EXPECT_NE(first, names(report_of(options)));
}

TEST(MutationRun, NamesChooseAndMustExist) {
  MutationOptions options;
  options.limit = 2;
  const MutationReport two = report_of(options);
  options = {};
  options.names = {two.mutants[1].name};
  const MutationReport one = report_of(options);
  ASSERT_EQ(one.mutants.size(), 1u);
  EXPECT_EQ(one.mutants[0].name, two.mutants[1].name);
  EXPECT_EQ(one.mutants[0].fate, two.mutants[1].fate);
}

TEST(MutationRun, ResultsDoNotDependOnJobs) {
  MutationOptions one, three;
  one.jobs = 1;
  three.jobs = 3;
  const MutationReport a = report_of(one), b = report_of(three);
  ASSERT_EQ(a.mutants.size(), b.mutants.size());
  for (std::size_t n = 0; n < a.mutants.size(); ++n) {
    EXPECT_EQ(a.mutants[n].by, b.mutants[n].by);
    EXPECT_EQ(a.mutants[n].case_line, b.mutants[n].case_line);
  }
}

TEST(MutationRun, RunawaysAreStopped) {
  std::string text = kCopy;
  text.replace(text.find("DONE:"), 5,
               "DONE:\nmov.u32 %r7, 9;\nLOOP: sub.u32 %r7, %r7, 1;\n"
               "setp.ne.u32 %p2, %r7, 0;\n@%p2 bra LOOP;");
  MutationOptions options;
  options.kinds = {ptx::Mutation::kPredicate};
  const Result<MutationReport> report = run_mutants(program_of(text), cases(), options);
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_EQ(find(*report, "- @%p2 bra LOOP; + bra LOOP;")->by, "budget");
}

TEST(MutationRun, UnhealthySubjectIsRefused) {
  std::string text = kCopy;
  text.replace(text.find("ld.shared.u16 %h2"), 17, "mov.u16 %h2, 0; ld.shared.u16 %h1");
  const Result<MutationReport> report = run_mutants(program_of(text), cases(), {});
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().message().find("passes every case before it is mutated"), std::string::npos);
  EXPECT_FALSE(run_mutants(program_of(kCopy), {}, {}).ok());
}

}  // namespace
}  // namespace moe4::oracle
