// The first column of i at which a subject leaves what it declares is where the fault was planted.
#include "oracle/diagnose/first_step.h"

#include <gtest/gtest.h>

#include <cmath>

#include "oracle/faults/chains.h"
#include "oracle/faults/selftest.h"
#include "oracle/gate/evaluate.h"
#include "reference/profile/float_ops.h"
#include "tests/oracle/fake_subject.h"
#include "tests/oracle/op_support.h"

namespace moe4::oracle {
namespace {

constexpr const char* kF32 =
    "op=expert_linear weights=mxfp4 tokens=5 experts=4 top_k=2 in=256 out=9 dtype=f32 fill=real seed=0x7";

// Promises the bits of `order`; the addition of one column is cut toward zero.
class CutAt : public FakeSubject {
 public:
  CutAt(const char* order, std::int64_t column)
      : FakeSubject("cut", [order, column](const CaseData& data, SubjectRun& run) {
          const Norm norm = norm_of_data(data);
          const Scene scene(data, norm, Key::from_seed(0));
          ChainKernel kernel;
          kernel.order = parse_order(order).value();
          kernel.fma = [column](std::int32_t i, float c, double p) {
            if (i != column) return add_once(c, p);
            const double sum = add_to_odd(c, p);
            const auto nearest = static_cast<float>(sum);
            return std::fabs(nearest) > std::fabs(sum) ? std::nextafter(nearest, 0.0F) : nearest;
          };
          run_chains(scene, kernel, run);
        }) {
    mutable_declaration().arithmetic.order = parse_order(order).value();
    mutable_declaration().bits_declared = true;
  }
};

std::optional<FirstStep> step_of(Subject& subject, const CaseData& data) {
  const SubjectRun run = subject.run(data);
  const Verdict verdict = judge(data, subject.declaration(), run);
  EXPECT_EQ(name_of(verdict.status), "FAILED") << verdict.reason;
  return first_step(subject, data, verdict, 0, std::chrono::minutes(1));
}

TEST(FirstStep, IsTheAdditionThatRoundsOtherwise) {
  const CaseData data = data_of(kF32);
  const std::pair<const char*, std::int64_t> kCuts[] = {
      {"seq", 37}, {"seq", 123}, {"seq", 255}, {"split(2)", 37}, {"split(2)", 123}};
  for (const auto& [order, column] : kCuts) {
    CutAt subject(order, column);
    const std::optional<FirstStep> step = step_of(subject, data);
    ASSERT_TRUE(step) << order << " " << column;
    EXPECT_EQ(step->kind, FirstStep::Kind::kColumn);
    EXPECT_EQ(step->in, column) << order;
    EXPECT_TRUE(step->slot);
    EXPECT_NE(step->at.got, step->at.expected_lo);
    EXPECT_LT(step->runs, 60);
  }
}

// A weight that is read wrongly, judged by value and by interval, in an operation of rows as well.
TEST(FirstStep, IsTheWeightThatIsReadWrongly) {
  for (const char* line :
       {"op=expert_linear weights=mxfp4 tokens=9 experts=4 top_k=2 in=160 out=8 dtype=bf16 fill=exact24 "
        "seed=3",
        "op=expert_linear weights=mxfp4 tokens=9 experts=4 top_k=2 in=160 out=8 dtype=bf16 fill=real seed=3",
        "op=indexed weights=int4 tokens=9 experts=4 top_k=2 in=160 out=8 dtype=bf16 fill=exact24 seed=3"}) {
    const CaseData data = data_of(line);
    const Norm norm = norm_of_data(data);
    Scene scene(data, norm, Key::from_seed(4));
    const std::optional<Site> site = scene.site();
    ASSERT_TRUE(site);
    FakeSubject subject("misreads", [&](const CaseData& seen, SubjectRun& run) {
      CaseData wrong = seen;
      Weights weights(wrong);
      weights.set_code(site->expert, site->out, site->in,
                       weights.code(site->expert, site->out, site->in) ^ (weights.int4() ? 8U : 3U));
      run.output = norm_of_data(wrong).output;
    });
    subject.mutable_declaration().ops = all_ops();
    subject.mutable_declaration().weights = all_weights();
    const std::optional<FirstStep> step = step_of(subject, data);
    ASSERT_TRUE(step) << line;
    EXPECT_EQ(step->kind, FirstStep::Kind::kColumn);
    if (data.line->fill == Fill::kReal) {  // the interval of so few columns may hold the fault
      EXPECT_GE(step->in, site->in);
      EXPECT_LT(step->in, site->in + 8);
    } else {
      EXPECT_EQ(step->in, site->in) << line;
    }
    EXPECT_EQ(step->at.out, site->out);
  }
}

TEST(FirstStep, WhatIsNotInTheSumIsSaidToBeOutsideOfIt) {
  const CaseData data = data_of(kF32);
  FakeSubject no_shared("no_shared", [](const CaseData& seen, SubjectRun& run) {
    CaseData wrong = seen;
    wrong.shared_output = Tensor(wrong.shared_output.dtype(), wrong.shared_output.shape());
    run.output = norm_of_data(wrong).output;
  });
  const std::optional<FirstStep> outside = step_of(no_shared, data);
  ASSERT_TRUE(outside);
  EXPECT_EQ(outside->kind, FirstStep::Kind::kNoToken);
  EXPECT_NE(first_step_text(data, *outside).find("is wrong with every token zero"), std::string::npos);

  int runs = 0;
  FakeSubject once("once", [&](const CaseData& seen, SubjectRun& run) {
    if (runs++ == 0) break_first_output(seen, run);
  });
  const std::optional<FirstStep> gone = step_of(once, data);
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->kind, FirstStep::Kind::kGone);

  const CaseData combine =
      data_of("op=combine weights=mxfp4 tokens=8 experts=6 top_k=4 in=64 out=9 dtype=bf16 fill=real seed=8");
  FakeSubject wrong("wrong", break_first_output);
  wrong.mutable_declaration().ops = all_ops();
  EXPECT_FALSE(step_of(wrong, combine)) << "it has no i";
}

TEST(FirstStep, IsNotSoughtWhereRunsAreSlow) {
  const CaseData data = data_of(kF32);
  FakeSubject subject("wrong", break_first_output);
  const Verdict verdict = judge(data, subject.declaration(), subject.run(data));
  const std::optional<FirstStep> step = first_step(subject, data, verdict, 1.0);
  ASSERT_TRUE(step);
  EXPECT_EQ(step->kind, FirstStep::Kind::kSlow);
  EXPECT_EQ(subject.runs, 1);
}

TEST(FirstStep, StandsInTheReportBeforeTheFault) {
  CutAt subject("seq", 77);
  const std::string failure = evaluate(subject, *parse_case(kF32)).failure;
  const std::size_t step = failure.find("first step: i = 77 (group 2): [");
  EXPECT_NE(step, std::string::npos) << failure;
  EXPECT_LT(step, failure.find("  arithmetic: ")) << failure;
}

}  // namespace
}  // namespace moe4::oracle
