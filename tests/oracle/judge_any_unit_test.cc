// VER-16: what is judged for any unit.
#include "oracle/judge/verdict.h"
#include "oracle/subject/subject.h"
#include "reference/accumulate/tensor_core.h"
#include "reference/profile/declared_rows.h"
#include "tests/oracle/op_support.h"

namespace moe4::oracle {
namespace {

Declaration of_any_unit() {
  Declaration d = make_reference_subject()->declaration();
  d.arithmetic.order = parse_order("any").value();
  d.any_accumulation = true;
  return d;
}

SubjectRun norm_run_of(const CaseData& data) { return make_reference_subject()->run(data); }

TEST(JudgeAnyUnit, HoldsEveryUnitAndIsWiderThanFp32) {
  Case c = case_of("tokens=8 experts=2 top_k=1 in=512 out=64 seed=3");
  c.op = Op::kIndexed;
  c.weights = WeightFormat::kInt4;
  c.fill = Fill::kPositive;
  const CaseData data = data_of(c);
  const Declaration any = of_any_unit();
  Declaration fp32 = any;
  fp32.any_accumulation = false;
  for (const char* unit : {"f32_sequential", "ampere", "hopper"}) {
    Arithmetic arithmetic = any.arithmetic;
    arithmetic.accumulation = parse_accumulation(unit).value();
    Result<RowsResult> rows = declared_indexed(data.indexed(), arithmetic, data.policy);
    ASSERT_TRUE(rows.ok()) << rows.error().message();
    SubjectRun run = norm_run_of(data);
    run.output = std::move(rows->output);
    const Verdict verdict = judge(data, any, run);
    EXPECT_EQ(name_of(verdict.status), "PASSED") << unit << ": " << verdict.reason;
    EXPECT_NE(verdict.rule.find("accumulation=any"), std::string::npos);
    EXPECT_LT(verdict.singleton_share, judge(data, fp32, run).singleton_share) << unit;
  }
}

// Products are added with 13 bits behind the largest of them: a tensor core, but none of ACC-14.
TEST(JudgeAnyUnit, AUnitOfNoGenerationIsTold) {
  TensorCore narrow = *tensor_core("hopper");
  narrow.fraction_bits = 13;
  Case c = case_of("tokens=8 experts=2 top_k=1 in=512 out=64 seed=3");
  c.op = Op::kIndexed;
  c.fill = Fill::kPositive;
  for (const WeightFormat weights : all_weights()) {
    c.weights = weights;
    const CaseData data = data_of(c);
    Arithmetic wrong = of_any_unit().arithmetic;
    wrong.accumulation = {Accumulation::Kind::kTensorCore, &narrow};
    Result<RowsResult> rows = declared_indexed(data.indexed(), wrong, data.policy);
    ASSERT_TRUE(rows.ok()) << rows.error().message();
    SubjectRun run = norm_run_of(data);
    run.output = std::move(rows->output);
    const Verdict verdict = judge(data, of_any_unit(), run);
    EXPECT_EQ(name_of(verdict.status), "FAILED");
    EXPECT_GT(verdict.mismatched, 0);
  }
}

TEST(JudgeAnyUnit, IsNoExcuseForAWrongOutput) {
  Case c = case_of("tokens=4 experts=2 top_k=1 in=256 out=16 seed=3");
  c.op = Op::kIndexed;
  c.weights = WeightFormat::kInt4;
  c.fill = Fill::kReal;
  const CaseData data = data_of(c);
  SubjectRun run = norm_run_of(data);
  run.output.as<std::uint16_t>()[0] ^= 0x0080;  // twice or half of an output
  EXPECT_EQ(name_of(judge(data, of_any_unit(), run).status), "FAILED");
}

}  // namespace
}  // namespace moe4::oracle
