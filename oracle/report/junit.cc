#include "oracle/report/junit.h"

#include <fmt/core.h>

#include "oracle/report/printable.h"

namespace moe4::oracle {
namespace {

// The value of an attribute keeps its ends of lines only as references.
std::string escape(std::string_view text) {
  std::string out;
  for (const char c : escape_markup(text)) out += c == '\n' ? std::string("&#10;") : std::string(1, c);
  return out;
}

// What the verdict was reached with, where an executor subject says it.
std::string properties(const Verdict& verdict) {
  std::string text;
  const auto add = [&](std::string_view name, std::string_view value) {
    text += fmt::format("<property name=\"{}\" value=\"{}\"/>", name, escape(value));
  };
  if (!verdict.hardware.empty()) add("hardware", verdict.hardware);
  for (const std::string& instruction : verdict.approximate) add("approximate", instruction);
  return text.empty() ? text : "<properties>" + text + "</properties>";
}

std::string test_case(const Tally& tally, const CaseResult& result) {
  const Verdict& verdict = result.verdict;
  const std::string status(name_of(verdict.status));
  std::string text = fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.6f}\">",
                                 escape(tally.subject), escape(to_string(result.line)), result.seconds);
  text += properties(verdict);
  if (is_red(result)) {
    const char* element = exit_code_of(verdict.status) == ExitCode::kCrashed ? "error" : "failure";
    text += fmt::format("<{0} type=\"{1}\" message=\"{2}\">{3}</{0}>", element, status,
                        escape(verdict.rule + ": " + verdict.reason), escape(result.failure));
  } else if (verdict.status != VerdictStatus::kPassed) {
    const std::string reason = result.known.empty() ? verdict.reason : "known, " + result.known;
    text += fmt::format("<skipped message=\"{}: {}\"/>", status, escape(reason));
  }
  return text + "</testcase>\n";
}

std::string conditions(const std::string& name, const std::vector<std::string>& unmet) {
  std::string text =
      fmt::format("    <testcase classname=\"{}\" name=\"gate conditions\" time=\"0\">", escape(name));
  std::string all;
  for (const std::string& condition : unmet) all += (all.empty() ? "" : "; ") + condition;
  if (!all.empty()) text += fmt::format("<failure type=\"MISTRUSTED\" message=\"{}\"/>", escape(all));
  return text + "</testcase>\n";
}

}  // namespace

std::string gate_junit(const GateReport& report) {
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"moe4 gate\">\n";
  for (const Tally& tally : report.tallies) {
    std::int64_t errors = 0;
    for (const CaseResult& result : tally.results) {
      errors += is_red(result) && exit_code_of(result.verdict.status) == ExitCode::kCrashed;
    }
    const std::int64_t failures = tally.red - errors + (tally.unmet.empty() ? 0 : 1);
    text += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" "
        "time=\"{:.6f}\">\n",
        escape(tally.subject), tally.listed + 1, failures, errors,
        tally.skipped + tally.unsupported + tally.known, tally.seconds);
    for (const CaseResult& result : tally.results) text += test_case(tally, result);
    text += conditions(tally.subject, tally.unmet) + "  </testsuite>\n";
  }
  const std::vector<std::string> whole = report.unmet();
  text += fmt::format(
      "  <testsuite name=\"gate\" tests=\"1\" failures=\"{}\" errors=\"0\" skipped=\"0\" time=\"0\">\n{}"
      "  </testsuite>\n",
      whole.empty() ? 0 : 1, conditions("gate", whole));
  return text + "</testsuites>\n";
}

}  // namespace moe4::oracle
