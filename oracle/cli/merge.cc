#include "oracle/gate/merge.h"

#include <memory>

#include "oracle/cli/command.h"
#include "oracle/cli/not_an_input.h"
#include "oracle/cli/reports.h"
#include "oracle/gate/baseline.h"

namespace moe4::oracle::cli {
namespace {

struct Options {
  std::vector<std::string> parts;
  ReportOptions reports;
};

ExitCode merge(const Options& options) {
  Result<std::vector<ReportTarget>> targets = parse_reports(options.reports.reports);
  if (!targets.ok()) return refuse(targets.error());
  for (const ReportTarget& target : *targets) {
    if (Status status = not_an_input(target.path, options.parts)) return refuse(*status);
  }
  std::vector<GateReport> parts;
  for (const std::string& path : options.parts) {
    Result<GateReport> part = read_report(path);
    if (!part.ok()) return refuse(part.error());
    parts.push_back(std::move(*part));
  }
  Result<GateReport> whole = merge_reports(parts, options.parts);
  if (!whole.ok()) return refuse(whole.error());
  if (!options.reports.baseline.empty()) {
    Result<GateReport> before = read_report(options.reports.baseline);
    if (!before.ok()) return refuse(before.error());
    whole->baseline = compare_with_baseline(*whole, *before);
  }
  return publish(*whole, *targets);
}

}  // namespace

void add_merge(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("merge", "Join the JSON reports of the shards of a gate");
  auto options = std::make_shared<Options>();
  command->add_option("REPORT", options->parts, "JSON reports, one a shard, in any order")->required();
  add_report_options(*command, options->reports);
  command->footer(
      "A missing shard is red, and the floors that no shard alone can meet are judged here. The exit code is "
      "that "
      "of the\nwhole gate.\n"
      "Examples:\n"
      "  moe4 gate --tier ci --shard 1/2 --report json=1.json ; moe4 gate --tier ci --shard 2/2 --report "
      "json=2.json\n"
      "  moe4 merge 1.json 2.json --report junit=gate.xml --report html=gate.html");
  command->callback([options, &code] { code = merge(*options); });
}

}  // namespace moe4::oracle::cli
