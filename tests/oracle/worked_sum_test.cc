// The minimal case as a table, and that shrinking gets there.
#include <algorithm>

#include "oracle/faults/scene.h"
#include "oracle/gate/fuzz.h"
#include "oracle/judge/worked_sum.h"
#include "tests/oracle/fake_subject.h"
#include "tests/oracle/judged_run.h"

namespace moe4::oracle::test {
namespace {

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(WorkedSum, ShortSumsByHand) {
  CaseData data = data_of(
      "op=expert_linear weights=mxfp4 tokens=1 experts=1 top_k=1 in=32 out=1 dtype=bf16 fill=real seed=1");
  std::fill_n(data.packed_weights.as<std::uint8_t>().begin(), 16, std::uint8_t{0});
  Weights weights(data);
  weights.set_code(0, 0, 3, 5);    // 3
  weights.set_code(0, 0, 4, 0xC);  // -2
  weights.set_scale(0, 0, 0, 128);
  for (std::int64_t i = 0; i < 32; ++i) set_token_bits(data, 0, i, 0x3F80);  // 1
  data.mixture_weights.as<float>()[0] = 0.5F;
  data.shared_output.as<std::uint16_t>()[0] = 0x4000;  // 2
  const std::string text = worked_sum(data, {0, 0, 0, 0, 0, 0});
  EXPECT_NE(text.find("     3  0x5   0x80              6  0x3f80 (1)                            6\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("     4  0xc   0x80             -4  0x3f80 (1)                           -4\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("sum 2, times p 0.5 of slot 0 (expert 0): 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("shared 0x4000 (2)\n    together 3\n"), std::string::npos) << text;
}

TEST(WorkedSum, LongSumsAreNotPrinted) {
  const CaseData data = data_of(
      "op=expert_linear weights=mxfp4 tokens=1 experts=1 top_k=1 in=96 out=1 dtype=bf16 fill=real seed=1");
  EXPECT_EQ(worked_sum(data, {0, 0, 0, 0, 0, 0}), "");
}

// The scale of one group of one row of one expert is one step too large, wherever the case has that place.
TEST(WorkedSum, AOneGroupScaleFaultShrinksToItsGroup) {
  FakeSubject subject("scale", [](const CaseData& data, SubjectRun& run) {
    CaseData seen = data;
    Weights w(seen);
    if (w.experts() > 2 && w.out() > 5 && w.groups() > 3) {
      w.set_scale(2, 5, 3, std::min(w.scale(2, 5, 3) + 1, 254U));
    }
    const Result<Norm> norm = fast_norm_result(seen);
    if (norm.ok()) run.output = norm->output;
  });
  const Result<Case> line = parse_case(
      "op=expert_linear weights=mxfp4 tokens=17 experts=8 top_k=2 in=608 out=33 dtype=bf16 fill=real "
      "seed=0x5");
  ASSERT_TRUE(line.ok());
  CaseResult found = evaluate(subject, *line, NameFault::kNo);
  ASSERT_EQ(found.verdict.status, VerdictStatus::kFailed);
  const FuzzFailure failure = shrink_failure(subject, std::move(found), {});
  const Case& minimal = failure.minimal.line;
  EXPECT_TRUE(failure.shrink_complete);
  EXPECT_EQ(failure.minimal.verdict.status, VerdictStatus::kFailed);
  EXPECT_EQ(
      minimal.keep_tokens.empty() ? static_cast<std::size_t>(minimal.tokens) : minimal.keep_tokens.size(), 1U)
      << to_string(minimal);
  EXPECT_EQ(minimal.top_k, 1) << to_string(minimal);
  EXPECT_EQ(minimal.keep_outputs, std::vector<std::int64_t>{5}) << to_string(minimal);
  EXPECT_LE(minimal.keep_codes.empty() ? minimal.keep_groups.size() : minimal.keep_codes.size(), 2U)
      << to_string(minimal);
  const std::string& text = failure.minimal.failure;
  EXPECT_NE(text.find("worked out"), std::string::npos) << text;
  EXPECT_NE(text.find("one_scale_step"), std::string::npos) << text;
  EXPECT_LT(lines_of(text), 40U) << text;
}

}  // namespace
}  // namespace moe4::oracle::test
