#include "oracle/cli/reports.h"

#include <fmt/core.h>

#include <algorithm>

#include "oracle/cli/command.h"
#include "oracle/file/atomic_file.h"
#include "oracle/report/html.h"
#include "oracle/report/json.h"
#include "oracle/report/junit.h"
#include "oracle/report/markdown.h"
#include "oracle/report/table.h"
#include "oracle/report/write_file.h"

namespace moe4::oracle::cli {
namespace {

struct Format {
  const char* name;
  std::string (*text)(const GateReport&);
};
constexpr Format kFormats[] = {
    {"junit", gate_junit}, {"json", gate_json}, {"md", gate_markdown}, {"html", gate_html}};

const Format* format_named(const std::string& name) {
  const auto found =
      std::find_if(std::begin(kFormats), std::end(kFormats), [&](const Format& f) { return name == f.name; });
  return found == std::end(kFormats) ? nullptr : found;
}

}  // namespace

void add_report_options(CLI::App& command, ReportOptions& options) {
  command.add_option("--report", options.reports, "junit=FILE, json=FILE, md=FILE or html=FILE; repeatable")
      ->take_all();
  command.add_option("--baseline", options.baseline,
                     "A JSON report of before: tells what is new, fixed and still failing");
}

Result<std::vector<ReportTarget>> parse_reports(const std::vector<std::string>& arguments) {
  std::vector<ReportTarget> targets;
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    const std::string format = argument.substr(0, equals);
    if (format_named(format) == nullptr || equals == std::string::npos || equals + 1 == argument.size()) {
      return Error{"report", argument, "junit=FILE, json=FILE, md=FILE or html=FILE"};
    }
    targets.push_back({format, argument.substr(equals + 1)});
    if (Status status = can_be_replaced(targets.back().path)) return *status;
  }
  return targets;
}

Result<GateReport> read_report(const std::string& path) {
  constexpr std::uintmax_t kLargest = std::uintmax_t{1} << 30;
  Result<std::string> text = read_file(path, kLargest);
  if (!text.ok()) return text.error();
  Result<GateReport> report = parse_gate_json(*text);
  if (report.ok()) return report;
  const Error& error = report.error();
  return Error{path + ": " + error.field, error.value, error.rule};
}

ExitCode publish(const GateReport& report, const std::vector<ReportTarget>& targets) {
  for (const std::string& part : {gate_failures(report), gate_known(report), gate_baseline(report)}) {
    if (!part.empty()) fmt::print("{}\n", part);
  }
  fmt::print("{}\n{}", gate_table(report), gate_summary(report));
  ExitCode code = report.exit_code();
  for (const ReportTarget& target : targets) {
    if (Status status = write_file(target.path, format_named(target.format)->text(report))) {
      code = more_urgent(code, refuse(*status));
    }
  }
  return code;
}

}  // namespace moe4::oracle::cli
