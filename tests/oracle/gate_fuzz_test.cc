// Fuzzing finds planted faults, shrinks them to the spot, and is quiet about a healthy subject.
#include <gtest/gtest.h>

#include <cstring>

#include "oracle/gate/draw.h"
#include "oracle/gate/fuzz.h"
#include "tests/oracle/fake_subject.h"

namespace moe4::oracle {
namespace {

FuzzReport fuzz(FakeSubject& subject, std::int64_t cases) {
  FuzzOptions options;
  options.cases = cases;
  options.time = std::chrono::duration<double>(300);
  Subject* const subjects[] = {&subject};
  return run_fuzz(subjects, options);
}

TEST(Fuzz, HealthySubjectPasses) {
  FakeSubject subject("healthy");
  const FuzzReport report = fuzz(subject, 40);
  EXPECT_EQ(report.exit_code(), ExitCode::kPassed);
  EXPECT_EQ(report.cases, 40);
  EXPECT_EQ(report.runs + report.weak + report.unusable, 40);
  EXPECT_LT(report.unusable, 10);
}

// The last output of a row is lost from 30 outputs on.
TEST(Fuzz, FindsATailFaultAndShrinksIt) {
  FakeSubject subject("tail", [](const CaseData&, SubjectRun& run) {
    const std::int64_t out = run.output.dim(1);
    if (out < 30) return;
    const std::size_t size = size_of(run.output.dtype());
    for (std::int64_t t = 0; t < run.output.dim(0); ++t) {
      std::memset(run.output.data() + static_cast<std::size_t>(t * out + out - 1) * size, 0, size);
    }
  });
  const FuzzReport report = fuzz(subject, 200);
  ASSERT_EQ(report.failures.size(), 1u) << "a subject that failed rests";
  EXPECT_EQ(report.exit_code(), ExitCode::kMismatch);
  const FuzzFailure& failure = report.failures[0];
  EXPECT_EQ(failure.minimal.line.out, 30);
  EXPECT_EQ(failure.minimal.line.tokens, 1);
  EXPECT_EQ(failure.minimal.line.keep_outputs, std::vector<std::int64_t>{29});
  EXPECT_EQ(failure.minimal.verdict.status, VerdictStatus::kFailed);
  const std::string replay = "moe4 run '" + to_string(failure.minimal.line) + "' --subject tail\n";
  EXPECT_EQ(failure.minimal.failure.rfind(replay, 0), 0u);
  EXPECT_LT(to_string(failure.minimal.line).size(), 300u);
}

TEST(Fuzz, ShrinkingKeepsTheKindOfFailure) {
  // A finding on wide rows, wrong numbers everywhere.
  FakeSubject subject("both", [](const CaseData& data, SubjectRun& run) {
    if (data.line->in >= 96) run.findings.push_back({"race", "text"});
    break_first_output(data, run);
  });
  Case line;
  line.in = 320;
  line.out = 3;
  CaseResult found = evaluate(subject, line);
  ASSERT_FALSE(found.verdict.findings.empty());
  const FuzzFailure failure = shrink_failure(subject, std::move(found), {});
  EXPECT_EQ(failure.minimal.line.in, 96);
  ASSERT_FALSE(failure.minimal.verdict.findings.empty());
  EXPECT_EQ(failure.minimal.verdict.findings[0].check, "race");
}

TEST(Fuzz, NothingRanIsUnmet) {
  FakeSubject subject("idle");
  subject.mutable_declaration().tokens_max = 0;
  const FuzzReport report = fuzz(subject, 10);
  EXPECT_EQ(report.runs, 0);
  EXPECT_EQ(report.exit_code(), ExitCode::kUnmet);
}

// Without a profile nothing can be due, so nothing is found and nothing is passed.
TEST(Fuzz, OnlyWeakRunsAreUnmet) {
  FakeSubject subject("undeclared");
  subject.mutable_declaration().profile.clear();
  const FuzzReport report = fuzz(subject, 10);
  EXPECT_GT(report.weak, 0);
  EXPECT_EQ(report.runs, 0);
  EXPECT_EQ(report.exit_code(), ExitCode::kUnmet);
}

TEST(Draw, IsAFunctionOfSeedAndIndexAndStaysInsideTheDeclaration) {
  FakeSubject subject("narrow");
  Declaration& d = subject.mutable_declaration();
  d.dtypes = {Dtype::kBF16};
  d.mixture_dtypes = {Dtype::kF32};
  d.shared_dtypes = {};
  d.out_multiple = 8;
  d.any_policy = false;
  std::set<Fill> fills;
  std::set<Routing> routings;
  std::set<std::string> lines;
  for (std::uint64_t index = 0; index < 200; ++index) {
    const std::optional<Case> line = draw_case({&d}, 5, index);
    ASSERT_TRUE(line.has_value());
    EXPECT_FALSE(d.refuses(*line)) << to_string(*line);
    EXPECT_FALSE(validate_case(*line));
    EXPECT_EQ(draw_case({&d}, 5, index), line);
    fills.insert(line->fill);
    routings.insert(line->routing);
    lines.insert(to_string(*line));
  }
  EXPECT_EQ(fills.size(), all_fills().size());
  EXPECT_EQ(routings.size(), all_routings().size() - 3) << "all but sentinel, minus_one and unsorted";
  EXPECT_GT(lines.size(), 195u);
  EXPECT_NE(draw_case({&d}, 6, 0), draw_case({&d}, 5, 0));
}

}  // namespace
}  // namespace moe4::oracle
