// VER-21 on runs that are made up: what is compared, and what a difference means.
#include <gtest/gtest.h>

#include "oracle/generate/generate.h"
#include "oracle/judge/hold_twin.h"

namespace moe4::oracle {
namespace {

class Twin : public testing::Test {
 protected:
  // A case, a run that is right, and its verdict.
  void judged(const std::string& fill) {
    data_ = *generate(*parse_case(
        "op=combine weights=mxfp4 tokens=3 experts=4 top_k=2 in=32 out=5 dtype=bf16 seed=0x3 fill=" + fill));
    run_ = subject_->run(data_);
    verdict_ = judge(data_, subject_->declaration(), run_);
    ASSERT_EQ(verdict_.status, VerdictStatus::kPassed) << verdict_.reason;
    twin_ = run_;
  }
  void hold() { hold_twin(data_, subject_->declaration(), run_, twin_, verdict_); }
  std::uint16_t& output(SubjectRun& run, std::size_t n) { return run.output.as<std::uint16_t>()[n]; }

  std::unique_ptr<Subject> subject_ = make_reference_subject();
  CaseData data_;
  SubjectRun run_, twin_;
  Verdict verdict_;
};

TEST_F(Twin, EqualBitsAreCounted) {
  judged("real");
  hold();
  EXPECT_EQ(verdict_.status, VerdictStatus::kPassed);
  EXPECT_EQ(verdict_.twin_compared, 15);
  EXPECT_EQ(verdict_.twin_differ, 0);
}

TEST_F(Twin, NansAreEqualAndZerosUnlessTheyAreStrict) {
  judged("real");
  output(run_, 2) = 0x7FC0, output(twin_, 2) = 0xFFC1;
  output(run_, 3) = 0x0000, output(twin_, 3) = 0x8000;
  Declaration declaration = subject_->declaration();
  declaration.zero = ZeroCompare::kAny;
  hold_twin(data_, declaration, run_, twin_, verdict_);
  EXPECT_EQ(verdict_.twin_differ, 0);
  declaration.zero = ZeroCompare::kStrict;
  hold_twin(data_, declaration, run_, twin_, verdict_);
  EXPECT_EQ(verdict_.twin_differ, 1) << "the zeros";
}

TEST_F(Twin, AnExecutorThatDidNotRunIsNoComparison) {
  judged("real");
  twin_.outcome = SubjectRun::Outcome::kUnsupported;
  twin_.reason = "not this one";
  hold();
  EXPECT_EQ(verdict_.status, VerdictStatus::kPassed);
  EXPECT_EQ(verdict_.twin_compared, 0);
  ASSERT_EQ(verdict_.where.size(), 1u);
  EXPECT_EQ(verdict_.where[0], "not compared with the executor: not this one");
}

// The executor is what is wrong: the run on the GPU keeps its verdict, and the difference is told.
TEST_F(Twin, AWrongExecutorDoesNotMakeModel) {
  judged("real");
  output(twin_, 7) ^= 0x4000;
  hold();
  EXPECT_EQ(verdict_.status, VerdictStatus::kPassed);
  EXPECT_EQ(verdict_.twin_differ, 1);
  ASSERT_FALSE(verdict_.where.empty());
  EXPECT_NE(verdict_.where.back().find("the first [1,2]"), std::string::npos) << verdict_.where.back();
  EXPECT_EQ(verdict_.where.back().find("the executor's are right"), std::string::npos);
}

TEST_F(Twin, AWrongRunStaysFailed) {
  for (const char* fill : {"real", "exact8"}) {
    judged(fill);
    output(run_, 7) ^= 0x4000;
    verdict_ = judge(data_, subject_->declaration(), run_);
    ASSERT_EQ(verdict_.status, VerdictStatus::kFailed);
    hold();
    EXPECT_EQ(verdict_.status, VerdictStatus::kFailed) << fill;
    EXPECT_NE(verdict_.where.back().find("the executor's are right"), std::string::npos)
        << verdict_.where.back();
  }
}

TEST_F(Twin, AWrongRunThatTheExecutorSharesSaysSo) {
  judged("real");
  output(run_, 7) ^= 0x4000;
  twin_ = run_;
  verdict_ = judge(data_, subject_->declaration(), run_);
  hold();
  EXPECT_EQ(verdict_.status, VerdictStatus::kFailed);
  EXPECT_EQ(verdict_.where.back(), "the executor has the same bits in every output");
}

}  // namespace
}  // namespace moe4::oracle
