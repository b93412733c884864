// VER-17: a subject that promises the bits of its declared arithmetic is held to them, and others are not.
#include <cstring>

#include "oracle/case/declared_outputs.h"
#include "oracle/judge/declared_bits.h"
#include "oracle/judge/due.h"
#include "oracle/judge/judge.h"
#include "oracle/judge/report_text.h"
#include "oracle/subject/subject.h"
#include "tests/oracle/op_support.h"
#include "tests/reference/kernel_simulation.h"

namespace moe4::oracle {
namespace {

using moe4::test::KernelSimulation;
using moe4::test::SlotOrder;

Arithmetic arithmetic_of(const std::string& words) { return parse_arithmetic(words).value(); }

Declaration promise(const std::string& words) {
  Declaration d = make_reference_subject()->declaration();
  d.name = "promises";
  d.arithmetic = arithmetic_of(words);
  d.profile = name_of(d.arithmetic.profile);
  d.bits_declared = true;
  d.zero = ZeroCompare::kAny;
  return d;
}

Declaration without_promise(Declaration d) {
  d.bits_declared = false;
  return d;
}

// What a kernel of that arithmetic returns.
SubjectRun run_as(const CaseData& data, const std::string& words) {
  Result<Norm> result = declared_result(data, arithmetic_of(words));
  EXPECT_TRUE(result.ok()) << words << ": " << (result.ok() ? "" : result.error().message());
  SubjectRun run;
  if (!result.ok()) return run;
  run.output = std::move(result->output);
  run.written = std::move(result->written);
  return run;
}

CaseData f32_case(const std::string& more = "fill=real") {
  return data_of("op=expert_linear weights=mxfp4 tokens=5 experts=4 top_k=2 in=256 out=9 dtype=f32 seed=7 " +
                 more);
}

bool takes(const CaseData& data, const std::string& words) {
  const auto weights = data.op == Op::kCombine ? std::nullopt : std::optional<WeightFormat>(data.weights);
  return !check_arithmetic(arithmetic_of(words), {output_shape(data).dtype, weights});
}

constexpr const char* kArithmetics[] = {
    "order=seq",
    "order=groups(32)",
    "order=lanes(32,8)+shfl",
    "order=split(2)*warps(64,2)+tree products=rounded",
    "order=streamk(2)",
    "profile=late order=seq",
    "profile=hf order=groups(32)",
    "order=seq accumulation=hopper",
    "order=warps(64,2)+tree accumulation=ampere",
    "order=seq ftz=yes",
    "order=seq weight=bf16",
    "order=seq dequant=accumulator_scale",
};

TEST(JudgeBits, HealthyKernelsPassInEveryOperationAndFormat) {
  int judged = 0;
  for (const Op op : all_ops()) {
    for (const WeightFormat weights : all_weights()) {
      for (const Fill fill : {Fill::kReal, Fill::kCancel, Fill::kBits, Fill::kNonfinite}) {
        Case c = case_of("tokens=9 experts=5 top_k=2 in=128 out=9 seed=3");
        c.op = op;
        c.weights = weights;
        c.fill = fill;
        const CaseData data = data_of(c);
        for (const char* words : kArithmetics) {
          if (!takes(data, words)) continue;
          const Verdict verdict = judge(data, promise(words), run_as(data, words));
          EXPECT_EQ(name_of(verdict.status), "PASSED")
              << to_string(c) << " " << words << ": " << verdict.reason;
          EXPECT_GT(verdict.bits_compared, 0) << to_string(c) << " " << words;
          EXPECT_LE(verdict.bits_compared, verdict.outputs);
          EXPECT_EQ(verdict.bits_differ, 0);
          ++judged;
        }
      }
    }
  }
  EXPECT_GT(judged, 200);
}

// Host floats, written without the evaluation: the same bits.
TEST(JudgeBits, ASimulatedKernelPassesToTheBit) {
  for (const char* order : {"seq", "groups(32)", "lanes(32,8)+shfl", "lanes(4,1)+seq"}) {
    for (const char* dtype : {"bf16", "f16", "f32", "f64"}) {
      for (const char* fill : {"real", "cancel", "slab_cancel", "positive", "ties"}) {
        const CaseData data =
            data_of("op=expert_linear weights=mxfp4 tokens=6 experts=4 top_k=2 in=128 out=24 seed=11 dtype=" +
                    std::string(dtype) + " fill=" + fill);
        SubjectRun run;
        run.output = moe4::test::simulate(
            data.inputs(), KernelSimulation{parse_order(order).value(), false, SlotOrder::kFused});
        const Verdict verdict = judge(data, promise(std::string("order=") + order), run);
        EXPECT_EQ(name_of(verdict.status), "PASSED") << to_string(*data.line) << order << verdict.reason;
        EXPECT_EQ(verdict.bits_compared, 6 * 24);
      }
    }
  }
}

// Each stays inside the interval of what is declared: nothing but VER-17 tells.
TEST(JudgeBits, AnotherArithmeticInsideTheIntervalIsTold) {
  const struct {
    const char* declared;
    const char* computed;
  } kWrong[] = {{"order=lanes(32,8)+shfl", "order=lanes(32,8)+seq"},
                {"order=groups(32)", "order=seq"},
                {"order=seq", "order=groups(32)"},
                {"order=split(2)", "order=seq"},
                {"order=seq", "order=seq products=rounded"}};
  const CaseData data = f32_case();
  for (const auto& [declared, computed] : kWrong) {
    const SubjectRun run = run_as(data, computed);
    EXPECT_EQ(name_of(judge(data, without_promise(promise(declared)), run).status), "PASSED") << declared;
    const Verdict verdict = judge(data, promise(declared), run);
    EXPECT_EQ(name_of(verdict.status), "FAILED") << declared << " computed as " << computed;
    EXPECT_EQ(verdict.mismatched, 0);
    EXPECT_GT(verdict.bits_differ, 0);
    EXPECT_TRUE(verdict.rule.starts_with("VER-17")) << verdict.rule;
  }
}

TEST(JudgeBits, TheFirstElementIsNamedExpectedFirst) {
  const CaseData data = f32_case();
  SubjectRun run = run_as(data, "order=seq");
  const std::uint32_t right = run.output.as<std::uint32_t>()[9 + 4];
  run.output.as<std::uint32_t>()[9 + 4] = right + 1;
  const Declaration declaration = promise("order=seq");
  const Verdict verdict = judge(data, declaration, run);
  ASSERT_EQ(name_of(verdict.status), "FAILED");
  EXPECT_EQ(verdict.bits_differ, 1);
  const Encodings encodings(Dtype::kF32);
  EXPECT_EQ(verdict.reason,
            "VER-17: 1 of 45 outputs lie inside their intervals, but not on the bits of the "
            "declared arithmetic: [1,4] expected " +
                encodings.text(right) + ", got " + encodings.text(right + 1));
  ASSERT_EQ(verdict.worst.size(), 1u);
  EXPECT_EQ(verdict.worst[0].expected_lo, right);
  EXPECT_EQ(verdict.worst[0].ulps, 1);
  const std::string text = report_text(data, declaration, verdict);
  EXPECT_NE(text.find("45 outputs held to the bits of the declared arithmetic, 1 differ"), std::string::npos)
      << text;
}

// VER-4 comes first, and says so.
TEST(JudgeBits, OutsideTheIntervalIsWrongByVer4) {
  const CaseData data = f32_case();
  SubjectRun run = run_as(data, "order=seq");
  run.output.as<std::uint32_t>()[0] ^= 0x00800000;
  const Verdict verdict = judge(data, promise("order=seq"), run);
  EXPECT_EQ(name_of(verdict.status), "FAILED");
  EXPECT_EQ(verdict.mismatched, 1);
  EXPECT_EQ(verdict.bits_differ, 0);
  EXPECT_TRUE(verdict.rule.starts_with("VER-4")) << verdict.rule;
}

TEST(JudgeBits, ExactFillsAskForTheNormsBitsAlone) {
  for (const char* fill : {"fill=exact8", "fill=exact24"}) {
    const CaseData data = f32_case(fill);
    const Verdict verdict = judge(data, promise("order=groups(32)"), run_as(data, "order=seq"));
    EXPECT_EQ(name_of(verdict.status), "PASSED") << verdict.reason;
    EXPECT_EQ(verdict.bits_compared, 0);
  }
}

TEST(JudgeBits, ZerosAreComparedByVer5) {
  // No slots: shared_output as it is, -0 among it.
  CaseData data = data_of(
      "op=expert_linear weights=mxfp4 tokens=5 experts=1 top_k=0 in=32 out=9 dtype=f32 seed=7 fill=real");
  data.shared_output.as<std::uint32_t>()[3] = 0x80000000u;
  SubjectRun run = run_as(data, "order=seq");
  ASSERT_EQ(run.output.as<std::uint32_t>()[3], 0x80000000u);
  run.output.as<std::uint32_t>()[3] = 0;
  Declaration declaration = promise("order=seq");
  EXPECT_EQ(name_of(judge(data, declaration, run).status), "PASSED");
  declaration.zero = ZeroCompare::kStrict;
  EXPECT_EQ(name_of(judge(data, declaration, run).status), "FAILED");
}

TEST(JudgeBits, OutputsThatMayOverflowAreLeftOut) {
  CaseData data = data_of(
      "op=expert_linear weights=mxfp4 tokens=9 experts=4 top_k=2 in=64 out=16 dtype=bf16 fill=real seed=5");
  // Rows of weights up to 2^121 and up to 2^127, in turn.
  std::size_t group = 0;
  for (std::uint8_t& byte : data.scale_bytes.as<std::uint8_t>()) byte = group++ / 2 % 2 == 0 ? 245 : 252;
  const Declaration declaration = promise("order=seq");
  const Result<Due> due = interval_due(data, declaration.arithmetic);
  ASSERT_TRUE(due.ok());
  std::int64_t overflowing = 0, expected = 0;
  for (const OutputInterval& y : due->outputs) {
    overflowing += y.may_overflow ? 1 : 0;
    expected += !y.may_overflow && y.cls == OutputClass::kFinite ? 1 : 0;
  }
  ASSERT_GT(overflowing, 0);
  ASSERT_GT(expected, 0);
  const Verdict verdict = judge(data, declaration, run_as(data, "order=seq"));
  EXPECT_EQ(name_of(verdict.status), "PASSED") << verdict.reason;
  EXPECT_EQ(verdict.bits_compared, expected);
}

TEST(JudgeBits, WhatLeavesBitsOpenIsNotJudged) {
  const CaseData data = f32_case();
  const SubjectRun run = run_as(data, "order=seq");
  // streamk is defined for BF16 tokens (PRO-18).
  for (const char* words : {"order=any", "order=streamk(2)"}) {
    EXPECT_EQ(name_of(judge(data, promise(words), run).status), "MISTRUSTED") << words;
  }
  Declaration any_unit = promise("order=seq");
  any_unit.any_accumulation = true;
  const Verdict verdict = judge(data, any_unit, run);
  EXPECT_EQ(name_of(verdict.status), "MISTRUSTED");
  EXPECT_NE(verdict.reason.find("VER-17"), std::string::npos) << verdict.reason;
}

// A large case: a sample, the same each time, with both ends of both axes in it.
TEST(JudgeBits, LargeCasesAreSampled) {
  const CaseData data = data_of(
      "op=indexed weights=int4 tokens=40 experts=3 top_k=2 in=512 out=300 dtype=bf16 fill=real seed=9");
  const Declaration declaration = promise("order=lanes(32,8)+shfl");
  const Result<Due> due = interval_due(data, declaration.arithmetic);
  ASSERT_TRUE(due.ok());
  const Result<DeclaredBits> once = declared_bits(data, declaration.arithmetic, *due);
  const Result<DeclaredBits> again = declared_bits(data, declaration.arithmetic, *due);
  ASSERT_TRUE(once.ok() && again.ok());
  EXPECT_EQ(once->index, again->index);
  EXPECT_EQ(once->bits, again->bits);
  const std::int64_t draws = (std::int64_t{1} << 22) / 512;
  EXPECT_LE(once->index.size(), static_cast<std::size_t>(draws));
  EXPECT_GT(once->index.size(), static_cast<std::size_t>(draws / 2));
  std::int64_t first_row = 0, last_row = 0, first_column = 0, last_column = 0;
  for (const std::int64_t index : once->index) {
    first_row += index / 300 == 0;
    last_row += index / 300 == 79;
    first_column += index % 300 == 0;
    last_column += index % 300 == 299;
  }
  for (const std::int64_t seen : {first_row, last_row}) EXPECT_GT(seen, 200);
  for (const std::int64_t seen : {first_column, last_column}) EXPECT_GT(seen, 70);

  // The samples are the evaluation's own bits, whichever way it is asked.
  const Result<Norm> all = declared_result(data, declaration.arithmetic);
  ASSERT_TRUE(all.ok());
  const Encodings encodings(Dtype::kBF16);
  for (std::size_t k = 0; k < once->index.size(); ++k) {
    ASSERT_EQ(once->bits[k], encodings.load(all->output, once->index[k])) << once->index[k];
  }
}

TEST(JudgeBits, SingleOutputsAreThoseOfTheWhole) {
  for (const Op op : all_ops()) {
    Case c = case_of("tokens=9 experts=5 top_k=3 in=64 out=5 seed=3 fill=real");
    c.op = op;
    c.weights = WeightFormat::kInt4;
    c.routing = op == Op::kExpertLinear ? Routing::kUniform : Routing::kMinusOne;
    const CaseData data = data_of(c);
    const Arithmetic arithmetic = arithmetic_of("profile=late order=lanes(4,1)+seq");
    const Result<DeclaredOutputs> outputs = DeclaredOutputs::create(data, arithmetic);
    const Result<Norm> all = declared_result(data, arithmetic);
    ASSERT_TRUE(outputs.ok() && all.ok());
    const Encodings encodings(all->output.dtype());
    for (const OutputRow& row : output_rows(data)) {
      for (std::int64_t o = 0; o < 5; ++o) {
        EXPECT_EQ(outputs->output(row.row, o), encodings.load(all->output, row.row * 5 + o));
      }
    }
  }
}

// One judge, many runs.
TEST(JudgeBits, AJudgeIsUsedAgain) {
  const CaseData data = f32_case();
  const Declaration declaration = promise("order=seq");
  const Judge judge(data, declaration);
  EXPECT_EQ(name_of(judge.verdict(run_as(data, "order=seq")).status), "PASSED");
  EXPECT_EQ(name_of(judge.verdict(run_as(data, "order=groups(32)")).status), "FAILED");
  EXPECT_EQ(name_of(judge.verdict(run_as(data, "order=seq")).status), "PASSED");
  SubjectRun crashed;
  crashed.outcome = SubjectRun::Outcome::kCrashed;
  EXPECT_EQ(name_of(judge.verdict(crashed).status), "CRASHED");
}

}  // namespace
}  // namespace moe4::oracle
