// The reference and a recorded file as subjects.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "oracle/file/case_file.h"
#include "oracle/generate/generate.h"
#include "oracle/judge/verdict.h"
#include "oracle/subject/subject.h"

namespace moe4::oracle {
namespace {

CaseData some_case() {
  Result<Case> line = parse_case(
      "op=expert_linear weights=mxfp4 tokens=3 experts=4 top_k=2 in=64 out=5 dtype=bf16 fill=bits seed=0x7");
  EXPECT_TRUE(line.ok());
  Result<CaseData> data = generate(*line);
  EXPECT_TRUE(data.ok());
  return std::move(*data);
}

TEST(ReferenceSubject, ReturnsTheNorm) {
  const CaseData data = some_case();
  const auto subject = make_reference_subject();
  const SubjectRun run = subject->run(data);
  ASSERT_EQ(run.outcome, SubjectRun::Outcome::kRan);
  Tensor norm(Dtype::kBF16, {3, 5});
  ASSERT_FALSE(mxfp4_expert_linear(data.inputs(), norm.mutable_view(), data.policy));
  ASSERT_EQ(run.output.shape(), norm.shape());
  EXPECT_EQ(std::memcmp(run.output.data(), norm.data(), norm.bytes()), 0);
  EXPECT_EQ(judge(data, subject->declaration(), run).status, VerdictStatus::kPassed);
}

TEST(ReferenceSubject, ReportsARefusedCase) {
  CaseData data = some_case();
  data.selected_experts.as<std::int32_t>()[1] = 4;
  const SubjectRun run = make_reference_subject()->run(data);
  EXPECT_EQ(run.outcome, SubjectRun::Outcome::kError);
  EXPECT_NE(run.reason.find("VAL-8"), std::string::npos) << run.reason;
}

TEST(FileSubject, ReturnsWhatWasRecorded) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "subject_test.safetensors";
  const CaseData data = some_case();
  const auto reference = make_reference_subject();
  ResultFile file;
  file.output = reference->run(data).output;
  file.output.as<std::uint16_t>()[4] ^= 0x8000;
  ASSERT_FALSE(write_result(path, file));
  const SubjectRun run = make_file_subject(path, reference->declaration())->run(data);
  ASSERT_EQ(run.outcome, SubjectRun::Outcome::kRan);
  EXPECT_EQ(std::memcmp(run.output.data(), file.output.data(), file.output.bytes()), 0);
  const Verdict verdict = judge(data, reference->declaration(), run);
  EXPECT_EQ(verdict.status, VerdictStatus::kFailed);
  ASSERT_EQ(verdict.worst.size(), 1u);
  EXPECT_EQ(verdict.worst[0].out, 4);
  std::filesystem::remove(path);
}

TEST(FileSubject, ReportsAFileThatIsNone) {
  const SubjectRun run = make_file_subject("/nonexistent/r", {})->run(some_case());
  EXPECT_EQ(run.outcome, SubjectRun::Outcome::kError);
  EXPECT_NE(run.reason.find("/nonexistent/r"), std::string::npos);
}

}  // namespace
}  // namespace moe4::oracle
