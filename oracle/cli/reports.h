// --report FORMAT=FILE, and what of a gate goes to stdout.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "oracle/gate/gate.h"

namespace moe4::oracle::cli {

struct ReportTarget {
  std::string format, path;
};

// "junit=FILE", "json=FILE", "md=FILE", "html=FILE"; each file could be written now.
Result<std::vector<ReportTarget>> parse_reports(const std::vector<std::string>& arguments);

// Adds --report and --baseline.
struct ReportOptions {
  std::vector<std::string> reports;
  std::string baseline;
};
void add_report_options(CLI::App& command, ReportOptions& options);

// A report that moe4 has written; an Error names the file.
Result<GateReport> read_report(const std::string& path);

// Prints failures, table and summary, and writes the reports. The exit code of the gate, or that of bad
// output.
ExitCode publish(const GateReport& report, const std::vector<ReportTarget>& targets);

}  // namespace moe4::oracle::cli
