// JUnit against its schema, the HTML page, the picture of a mismatch.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>

#include "oracle/gate/gate.h"
#include "oracle/generate/generate.h"
#include "oracle/report/failure.h"
#include "oracle/report/html.h"
#include "oracle/report/html_picture.h"
#include "oracle/report/junit.h"
#include "oracle/report/printable.h"
#include "oracle/report/write_file.h"
#include "tests/oracle/fake_subject.h"

namespace moe4::oracle {
namespace {

// xmllint of Debian's libxml2-utils, which ./dev test installs.
int xmllint(const std::string& options, const std::string& xml) {
  const std::string file = testing::TempDir() + "report.xml";
  if (write_file(file, xml)) return -1;
  const int status = std::system(("xmllint --noout " + options + " " + shell_word(file) + " 2>&1").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string schema() {
  return "--schema " + shell_word(std::string(MOE4_SOURCE_DIR) + "/tests/oracle/junit.xsd");
}

// Two clusters: a block at the upper left, and the last output.
void break_some(const CaseData&, SubjectRun& run) {
  const std::int64_t out = run.output.dim(1), rows = run.output.dim(0);
  const auto flip = [&](std::int64_t r, std::int64_t o) {
    run.output.as<std::uint16_t>()[static_cast<std::size_t>(r * out + o)] ^= 0x8000;
  };
  for (std::int64_t r = 0; r < 2; ++r) {
    for (std::int64_t o = 0; o < 3; ++o) flip(r, o);
  }
  flip(rows - 1, out - 1);
}

GateReport report_with_everything() {
  FakeSubject healthy("healthy"), wrong("wrong <&\"'>", break_some),
      crashed("crashed",
              [](const CaseData&, SubjectRun&run) {
                run.outcome = SubjectRun::Outcome::kCrashed;
                run.reason = "it said: \033[31m \xff <b>&amp;</b>";
              }),
      idle("idle");
  idle.mutable_declaration().dtypes = {Dtype::kF64};
  Subject* const subjects[] = {&healthy, &wrong, &crashed, &idle};
  GateOptions options;
  options.tier = "test";
  options.known = {
      {"wrong <&\"'>", "seed=0x2", VerdictStatus::kFailed, "https://example.org/1", "known & <tracked>"}};
  std::vector<Case> cases;
  for (const char* seed : {"1", "2"}) {
    cases.push_back(
        *parse_case(std::string("op=expert_linear weights=mxfp4 tokens=9 experts=4 top_k=2 in=64 out=40 "
                                "dtype=bf16 fill=real seed=") +
                    seed));
  }
  GateReport report = run_gate(subjects, cases, options);
  report.unusable.push_back("a line: \x01 <x>");
  report.baseline = BaselineComparison{{"a: <new>"}, {"b"}, {"c"}, {}};
  return report;
}

TEST(JunitSchema, EveryReportIsValid) {
  EXPECT_EQ(xmllint(schema(), gate_junit(report_with_everything())), 0);
  EXPECT_EQ(xmllint(schema(), gate_junit(GateReport{})), 0);
}

TEST(JunitSchema, SeesWhatIsNone) {
  std::string xml = gate_junit(report_with_everything());
  xml.replace(xml.find("failures="), 9, "failure_=");
  EXPECT_NE(xmllint(schema(), xml), 0);
  EXPECT_NE(xmllint(schema(), "<testsuites name=\"x\"><testcase/></testsuites>"), 0);
}

std::int64_t count(const std::string& text, const std::string& word) {
  std::int64_t n = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

TEST(Html, IsOneWellFormedPageThatNeedsNothingElse) {
  const std::string page = gate_html(report_with_everything());
  EXPECT_EQ(xmllint("", page), 0) << page;
  for (const char* word : {"<script", "src=", "href=", "url(", "@import", "\033", "\xff"}) {
    EXPECT_EQ(count(page, word), 0) << word;
  }
  EXPECT_EQ(count(page, "<svg"), 1) << "the known failure has none";
  EXPECT_EQ(count(page, "class=\"wrong\""), 7);
  EXPECT_EQ(count(page, "class=\"cluster\""), 2);
  EXPECT_NE(page.find("token 8, output 39: 1 of 1 wrong"), std::string::npos);
  EXPECT_NE(page.find("wrong &lt;&amp;&quot;'&gt;"), std::string::npos);
  EXPECT_NE(page.find("a: &lt;new&gt;"), std::string::npos);
  EXPECT_NE(page.find("known &amp; &lt;tracked&gt;"), std::string::npos);
  EXPECT_EQ(xmllint("", gate_html(GateReport{})), 0);
}

TEST(Picture, BlocksOfManyOutputsAndTheirClusters) {
  const Case line =
      *parse_case("op=expert_linear weights=mxfp4 tokens=100 experts=2 top_k=1 in=32 out=300 dtype=bf16");
  const Result<CaseData> data = generate(line);
  ASSERT_TRUE(data.ok());
  // Outputs 4 and 5 of token 3, output 7 of token 4 (a neighbour at the corner), the very last output.
  const Picture p = picture_of(*data, {3 * 300 + 4, 3 * 300 + 5, 4 * 300 + 7, 99 * 300 + 299});
  EXPECT_EQ(p.row_step, 2);
  EXPECT_EQ(p.output_step, 4);
  EXPECT_EQ(p.cells, (std::vector<PictureCell>{{1, 1, 2}, {2, 1, 1}, {49, 74, 1}}));
  EXPECT_EQ(p.outputs_in(p.cells[0]), 8);
  EXPECT_EQ(p.clusters(), (std::vector<PictureCluster>{{1, 1, 2, 1, 3}, {49, 74, 49, 74, 1}}));
  EXPECT_TRUE(picture_of(*data, {}).empty());
}

TEST(Printable, ShowsWhatATerminalWouldObeyAndKeepsUtf8) {
  EXPECT_EQ(printable("a\033[31m\x7f\r\n"), "a\\x1b[31m\\x7f\\x0d\\x0a");
  EXPECT_EQ(printable("a\nb", true), "a\nb");
  EXPECT_EQ(printable("\u00e9 \u20ac \U0001F600"), "\u00e9 \u20ac \U0001F600");
  EXPECT_EQ(printable("\xc3"), "\\xc3");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf") << "overlong";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b") << "a control of eight bits";
}

}  // namespace
}  // namespace moe4::oracle
