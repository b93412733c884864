// VER-1, VER-2, VER-5 … VER-13 one by one.
#include <cmath>

#include "oracle/judge/clusters.h"
#include "oracle/judge/encodings.h"
#include "oracle/judge/report_text.h"
#include "tests/oracle/judged_run.h"

namespace moe4::oracle::test {
namespace {

constexpr const char* kLine =
    "op=expert_linear weights=mxfp4 tokens=6 experts=4 top_k=2 in=96 out=16 dtype=bf16 fill=exact8 seed=5";

TEST(JudgeRules, RunsThatDidNotEnd) {
  const CaseData data = data_of(kLine);
  using Outcome = SubjectRun::Outcome;
  for (const auto& [outcome, status] : {std::pair{Outcome::kUnsupported, "UNSUPPORTED"},
                                        {Outcome::kCrashed, "CRASHED"},
                                        {Outcome::kTimeout, "TIMEOUT"},
                                        {Outcome::kError, "FAILED"}}) {
    SubjectRun run;
    run.outcome = outcome;
    run.reason = "why";
    const Verdict verdict = judge(data, declaration_of("seq"), run);
    EXPECT_EQ(status_of(verdict), status);
    EXPECT_EQ(verdict.reason, "why");
  }
}

TEST(JudgeRules, DtypeAndShape) {
  const CaseData data = data_of(kLine);
  EXPECT_EQ(status_of(judge(data, declaration_of("seq"), run_of(Tensor(Dtype::kF16, {6, 16})))), "FAILED");
  EXPECT_EQ(status_of(judge(data, declaration_of("seq"), run_of(Tensor(Dtype::kBF16, {16, 6})))), "FAILED");
  EXPECT_EQ(status_of(judge(data, declaration_of("seq"), run_of(Tensor(Dtype::kBF16, {96})))), "FAILED");
}

TEST(JudgeRules, UnwrittenOutputsAreRedWhateverTheyHold) {
  const CaseData data = data_of(kLine);
  SubjectRun run = norm_run(data);
  run.unwritten.assign(96, false);
  EXPECT_EQ(status_of(judge(data, declaration_of("seq"), run)), "PASSED");
  for (std::size_t t = 0; t < 6; ++t) run.unwritten[16 * t + 15] = true;
  const Verdict verdict = judge(data, declaration_of("seq"), run);
  EXPECT_EQ(status_of(verdict), "FAILED");
  EXPECT_EQ(verdict.unwritten, 6);
  EXPECT_EQ(verdict.mismatched, 0);
}

TEST(JudgeRules, ChangedInputsAreRed) {
  const CaseData data = data_of(kLine);
  SubjectRun run = norm_run(data);
  run.inputs_unchanged = false;
  EXPECT_EQ(status_of(judge(data, declaration_of("seq"), run)), "FAILED");
}

TEST(JudgeRules, DeviceFindingsAreRed) {
  const CaseData data = data_of(kLine);
  SubjectRun run = norm_run(data);
  run.findings.push_back({"shared-race", "line 7 against line 9"});
  const Verdict verdict = judge(data, declaration_of("seq"), run);
  EXPECT_EQ(status_of(verdict), "FAILED");
  const std::string text = report_text(data, declaration_of("seq"), verdict);
  EXPECT_NE(text.find("shared-race\n    line 7 against line 9"), std::string::npos) << text;
}

TEST(JudgeRules, ExactFillWithoutProofIsNotExact) {
  CaseData data = data_of(kLine);
  moe4::test::simulation::number(data.latent_tokens.view(), 0);
  data.latent_tokens.as<std::uint16_t>()[0] = 0x0001;  // the smallest subnormal: the unit falls far below
  auto codes = data.packed_weights.as<std::uint8_t>();
  for (std::uint8_t& byte : codes) byte |= 0x11;
  const Verdict verdict = judge(data, declaration_of("seq"), norm_run(data));
  EXPECT_EQ(status_of(verdict), "NOT_EXACT");
  ASSERT_TRUE(verdict.proof);
  EXPECT_FALSE(verdict.proof->proved);
}

// The proof is made from the tensors, not taken from the case.
TEST(JudgeRules, AForgedProofDoesNotHelp) {
  CaseData data = data_of(
      "op=expert_linear weights=mxfp4 tokens=6 experts=4 top_k=2 in=96 out=16 dtype=bf16 fill=real seed=5");
  data.line->fill = Fill::kExact24;
  data.proof = ExactProof{true, 1, 16777216};
  EXPECT_EQ(status_of(judge(data, declaration_of("seq"), norm_run(data))), "NOT_EXACT");
}

TEST(JudgeRules, UndeclaredProfileNeverPasses) {
  for (const char* fill : {"exact8", "real"}) {
    const CaseData data =
        data_of("op=expert_linear weights=mxfp4 tokens=6 experts=4 top_k=2 in=96 out=16 dtype=bf16 fill=" +
                std::string(fill) + " seed=5");
    Declaration declaration = declaration_of("seq");
    declaration.profile.clear();
    const Verdict right = judge(data, declaration, norm_run(data));
    EXPECT_EQ(status_of(right), "MISTRUSTED");
    EXPECT_NE(right.reason.find("declare"), std::string::npos);
    SubjectRun wrong = norm_run(data);
    wrong.output.as<std::uint16_t>()[3] ^= 0x4000;
    EXPECT_EQ(status_of(judge(data, declaration, wrong)), "FAILED");
  }
}

TEST(JudgeRules, AnArithmeticWithoutBoundIsMistrusted) {
  Declaration declaration = declaration_of("seq");
  declaration.profile = "late";
  declaration.arithmetic.profile = RoundingProfile::kLate;
  const CaseData exact = data_of(kLine);
  EXPECT_EQ(status_of(judge(exact, declaration, norm_run(exact))), "PASSED") << "every profile is exact here";
  // BF16 tokens on a tensor core that has none (PRO-20).
  declaration.arithmetic.accumulation = parse_accumulation("volta").value();
  const CaseData real = data_of(
      "op=expert_linear weights=mxfp4 tokens=6 experts=4 top_k=2 in=96 out=16 dtype=bf16 fill=real seed=5");
  EXPECT_EQ(status_of(judge(real, declaration, norm_run(real))), "MISTRUSTED");
}

// COR-4: any NaN for NaN; the infinities by sign.
TEST(JudgeRules, NonFiniteOutputsByClass) {
  const CaseData data = data_of(
      "op=expert_linear weights=mxfp4 tokens=24 experts=4 top_k=1 in=64 out=16 dtype=bf16 fill=nonfinite "
      "seed=8");
  SubjectRun run = norm_run(data);
  int nan = 0;
  int inf = 0;
  for (std::uint16_t& bits : run.output.as<std::uint16_t>()) {
    nan += bits == 0x7FC0 ? 1 : 0;
    inf += (bits & 0x7FFF) == 0x7F80 ? 1 : 0;
    if (bits == 0x7FC0) bits = 0xFF81;
  }
  ASSERT_GT(nan, 0);
  ASSERT_GT(inf, 0);
  EXPECT_EQ(status_of(judge(data, declaration_of("seq"), run)), "PASSED");
  for (std::uint16_t& bits : run.output.as<std::uint16_t>()) {
    if ((bits & 0x7FFF) == 0x7F80) bits ^= 0x8000;
  }
  EXPECT_EQ(status_of(judge(data, declaration_of("seq"), run)), "FAILED");

  Declaration unspecified = declaration_of("seq");
  unspecified.nonfinite_ieee = false;
  const Verdict verdict = judge(data, unspecified, run);
  EXPECT_EQ(status_of(verdict), "PASSED") << verdict.reason;
  EXPECT_LT(verdict.outputs, 24 * 16);
  EXPECT_EQ(verdict.coverage.outputs, verdict.outputs);
}

TEST(JudgeRules, AFileWithoutLineIsJudgedByInterval) {
  CaseData data = data_of(kLine);
  data.line.reset();
  const Verdict verdict = judge(data, declaration_of("seq"), norm_run(data));
  EXPECT_EQ(status_of(verdict), "PASSED");
  EXPECT_TRUE(verdict.rule.starts_with("VER-4"));
  EXPECT_EQ(verdict.singleton_share, 1);  // BND-10
}

TEST(JudgeRules, NothingButZerosIsMistrusted) {
  CaseData data = data_of(
      "op=expert_linear weights=mxfp4 tokens=6 experts=4 top_k=2 in=96 out=16 dtype=bf16 fill=real seed=5");
  for (std::uint16_t& bits : data.latent_tokens.as<std::uint16_t>()) bits = 0;
  for (std::uint16_t& bits : data.shared_output.as<std::uint16_t>()) bits = 0;
  const Verdict verdict = judge(data, declaration_of("seq"), norm_run(data));
  EXPECT_EQ(status_of(verdict), "MISTRUSTED");
  EXPECT_TRUE(verdict.reason.starts_with("VER-9")) << verdict.reason;
  EXPECT_TRUE(verdict.coverage.pairs.none());
}

TEST(JudgeRules, RefusedCasesAreMistrusted) {
  CaseData data = data_of(kLine);
  data.selected_experts.as<std::int32_t>()[0] = 4;
  const Verdict verdict = judge(data, declaration_of("seq"), run_of(Tensor(Dtype::kBF16, {6, 16})));
  EXPECT_EQ(status_of(verdict), "MISTRUSTED");
}

TEST(JudgeRules, AtMostTwentyWorstFirst) {
  const CaseData data = data_of(kLine);
  SubjectRun run = norm_run(data);
  std::uint16_t k = 0;
  for (std::uint16_t& bits : run.output.as<std::uint16_t>()) bits = static_cast<std::uint16_t>(bits + ++k);
  const Verdict verdict = judge(data, declaration_of("seq"), run);
  EXPECT_EQ(verdict.mismatched, 96);
  ASSERT_EQ(verdict.worst.size(), 20U);
  for (std::size_t w = 1; w < 20; ++w) EXPECT_GE(verdict.worst[w - 1].ulps, verdict.worst[w].ulps);
  EXPECT_EQ(verdict.where, (std::vector<std::string>{"everywhere"}));
}

TEST(JudgeEncodings, OrderAndDistance) {
  const Encodings bf16(Dtype::kBF16);
  EXPECT_TRUE(bf16.at_most(0x8000, 0x0000, true));
  EXPECT_FALSE(bf16.at_most(0x0000, 0x8000, true));
  EXPECT_TRUE(bf16.at_most(0x0000, 0x8000, false));
  EXPECT_TRUE(bf16.at_most(0xFF80, 0xBF80, true));
  EXPECT_FALSE(bf16.at_most(0xBF80, 0xC000, true));
  EXPECT_EQ(bf16.distance(0x8001, 0x0001), 2);
  EXPECT_EQ(bf16.distance(0x7F7F, 0x7F80), 1);
  EXPECT_EQ(bf16.ulp(0x3F80), 0x1p-7);
  EXPECT_EQ(bf16.ulp(0x0000), 0x1p-133);
  EXPECT_EQ(bf16.text(0x3F80), "0x3f80 (1)");
  EXPECT_EQ(Encodings(Dtype::kF64).text(0xFFF8000000000001), "0xfff8000000000001 (NaN)");
}

TEST(JudgeClusters, Ranges) {
  EXPECT_EQ(ranges({0, 1, 2, 5, 7, 8}), "0..2, 5, 7..8");
  EXPECT_EQ(ranges({1, 3, 5, 7}, 2), "1, 3 (and 2 more)");
}

TEST(JudgeClusters, PeriodsAreSeen) {
  const CaseData data = data_of(kLine);
  const auto lines = describe_clusters(data, {16 * 2 + 3, 16 * 2 + 11});
  ASSERT_GE(lines.size(), 2U);
  EXPECT_EQ(lines[0], "tokens: 1 of 6: 2");
  EXPECT_EQ(lines[1], "outputs: 2 of 16: 3, 11, all with o % 8 == 3");
}

}  // namespace
}  // namespace moe4::oracle::test
