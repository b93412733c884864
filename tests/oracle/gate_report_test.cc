// What the gate prints and writes.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "oracle/gate/gate.h"
#include "oracle/report/failure.h"
#include "oracle/report/json.h"
#include "oracle/report/junit.h"
#include "oracle/report/markdown.h"
#include "oracle/report/table.h"
#include "tests/oracle/fake_subject.h"

namespace moe4::oracle {
namespace {

// One healthy subject, one that fails both of its cases, one that accepts nothing.
class GateReportTest : public testing::Test {
 protected:
  GateReportTest() {
    idle_.mutable_declaration().dtypes = {Dtype::kF64};
    Result<std::vector<Case>> cases = parse_case_list(
        "op=expert_linear weights=mxfp4 tokens=2 experts=4 top_k=2 in=64 out=4 dtype=bf16 fill=exact8\n"
        "op=expert_linear weights=mxfp4 tokens=3 experts=4 top_k=2 in=64 out=4 dtype=bf16 fill=real "
        "seed=0x3\n");
    GateOptions options;
    options.tier = "test";
    Subject* const subjects[] = {&healthy_, &wrong_, &idle_};
    report_ = run_gate(subjects, *cases, options);
  }

  FakeSubject healthy_{"healthy"}, wrong_{"wrong", break_first_output}, idle_{"idle"};
  GateReport report_;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST_F(GateReportTest, FailureBlockBeginsAndEndsWithTheReplayCommand) {
  const CaseResult& result = report_.tallies[1].results[0];
  const std::vector<std::string> lines = lines_of(result.failure);
  ASSERT_GT(lines.size(), 3u);
  EXPECT_EQ(lines.front(), "moe4 run '" + to_string(result.line) + "' --subject wrong");
  EXPECT_EQ(lines.back(), lines.front());
  EXPECT_NE(lines[1].find("FAILED"), std::string::npos);
  EXPECT_EQ(report_.tallies[0].results[0].failure, "");
}

TEST_F(GateReportTest, BitsAndFormalFindingsAreInTableAndJson) {
  GateReport report = report_;
  report.tallies[0].bits_compared = 1234;
  report.tallies[0].findings = 0;
  report.tallies[0].formal_findings = 3;
  const std::string row = lines_of(gate_table(report))[1];
  EXPECT_NE(row.find("1234"), std::string::npos) << row;
  EXPECT_NE(row.find("none, 3 formal"), std::string::npos) << row;
  const nlohmann::json subject = nlohmann::json::parse(gate_json(report))["subjects"][0];
  EXPECT_EQ(subject["bits_compared"], 1234);
  EXPECT_EQ(subject["findings"], 0);
  EXPECT_EQ(subject["formal_findings"], 3);
  EXPECT_EQ(subject["results"][0]["bits_compared"], 0);
  EXPECT_EQ(subject["results"][0]["bits_differ"], 0);
}

TEST_F(GateReportTest, TableHasARowASubject) {
  const std::vector<std::string> lines = lines_of(gate_table(report_));
  EXPECT_EQ(lines[0].rfind("kernel", 0), 0u);
  EXPECT_NE(lines[1].find("2/2"), std::string::npos);
  EXPECT_NE(lines[1].find("PASSED"), std::string::npos);
  EXPECT_NE(lines[2].find("FAILED 2"), std::string::npos);
  EXPECT_NE(lines[3].find("0/2 (2 unsupported)"), std::string::npos);
  EXPECT_NE(lines[3].find("MISTRUSTED"), std::string::npos);
}

TEST_F(GateReportTest, SummaryIsNeverGreenWhenTheExitCodeIsNot) {
  EXPECT_EQ(report_.exit_code(), ExitCode::kMismatch);
  EXPECT_EQ(gate_summary(report_).rfind("FAILED:", 0), 0u);
  EXPECT_EQ(gate_summary(GateReport{}).rfind("NOTHING RAN:", 0), 0u);
}

TEST_F(GateReportTest, FailuresNameUnmetConditions) {
  EXPECT_NE(gate_failures(report_).find("idle: no case ran"), std::string::npos);
}

TEST_F(GateReportTest, JsonHasTheDocumentedFields) {
  const nlohmann::json j = nlohmann::json::parse(gate_json(report_));
  EXPECT_EQ(j["moe4.report"], 2);
  EXPECT_EQ(j["exit_code"], 1);
  ASSERT_EQ(j["subjects"].size(), 3u);
  const nlohmann::json& wrong = j["subjects"][1];
  EXPECT_EQ(wrong["status"], "FAILED");
  EXPECT_EQ(wrong["cases"]["red"], 2);
  EXPECT_EQ(wrong["results"][0]["worst"].size(), 1u);
  EXPECT_EQ(wrong["results"][0]["worst"][0]["got"].get<std::string>().size(), 6u)
      << "0x and four digits of BF16";
  EXPECT_TRUE(wrong["results"][0].contains("replay"));
  EXPECT_FALSE(j["subjects"][0]["results"][0].contains("replay"));
  EXPECT_TRUE(j["subjects"][2]["tightness"]["all"].is_null());
}

TEST_F(GateReportTest, JunitCountsWhatItHolds) {
  const std::string xml = gate_junit(report_);
  const auto count = [&](const std::string& word) {
    std::int64_t n = 0;
    for (std::size_t at = xml.find(word); at != std::string::npos; at = xml.find(word, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count("<testsuite name="), 4);
  EXPECT_EQ(count("<testcase "), 3 * 3 + 1);
  EXPECT_EQ(count("<failure "), 2 + 1) << "two cases, and the idle subject's condition";
  EXPECT_EQ(count("<skipped "), 2);
  EXPECT_NE(xml.find("name=\"wrong\" tests=\"3\" failures=\"2\" errors=\"0\""), std::string::npos);
}

TEST_F(GateReportTest, MarkdownHoldsTableAndFailures) {
  const std::string text = gate_markdown(report_);
  EXPECT_EQ(text.rfind("# moe4 gate, tier test", 0), 0u);
  EXPECT_NE(text.find(gate_table(report_)), std::string::npos);
  EXPECT_NE(text.find("## What is wrong"), std::string::npos);
}

// Whoever reads a verdict sees which chip was modelled and what the ISA leaves open.
TEST(GateReport, NamesTheChipAndApproximateInstructions) {
  FakeSubject subject("matrix", [](const CaseData& data, SubjectRun& run) {
    run.hardware = "ada";
    run.approximate = {"ex2.approx.f32"};
    if (data.line->fill == Fill::kReal) break_first_output(data, run);
  });
  Result<std::vector<Case>> cases = parse_case_list("in=64 out=4 fill=exact8\nin=64 out=4 fill=real\n");
  Subject* const subjects[] = {&subject};
  const GateReport report = run_gate(subjects, *cases, {});
  const nlohmann::json j = nlohmann::json::parse(gate_json(report));
  for (const nlohmann::json& result : j["subjects"][0]["results"]) {
    EXPECT_EQ(result["hardware"], "ada");
    EXPECT_EQ(result["approximate"], nlohmann::json({"ex2.approx.f32"}));
  }
  EXPECT_NE(gate_junit(report).find("<property name=\"hardware\" value=\"ada\"/>"
                                    "<property name=\"approximate\" value=\"ex2.approx.f32\"/>"),
            std::string::npos);
  for (const std::string& text : {gate_table(report), gate_markdown(report), gate_failures(report)}) {
    EXPECT_NE(text.find("tensor cores of ada"), std::string::npos) << text;
    EXPECT_NE(text.find("depends on approximate instructions: ex2.approx.f32"), std::string::npos) << text;
  }
}

TEST(ShellWord, QuotesWhatAShellWouldRead) {
  EXPECT_EQ(shell_word("mxfp4_linear-1.2/x"), "mxfp4_linear-1.2/x");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's $HOME"), "'it'\\''s $HOME'");
  EXPECT_EQ(shell_word(""), "''");
}

}  // namespace
}  // namespace moe4::oracle
