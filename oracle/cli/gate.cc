#include "oracle/gate/gate.h"

#include <fmt/core.h>

#include <charconv>
#include <memory>

#include "oracle/cli/command.h"
#include "oracle/cli/number_options.h"
#include "oracle/cli/progress.h"
#include "oracle/cli/subjects.h"
#include "oracle/cli/tier.h"
#include "oracle/file/atomic_file.h"
#include "oracle/report/json.h"
#include "oracle/report/junit.h"
#include "oracle/report/markdown.h"
#include "oracle/report/table.h"
#include "oracle/report/write_file.h"

namespace moe4::oracle::cli {
namespace {

struct Options {
  std::string tier = "smoke", shard;
  double time = 0;
  std::uint64_t seed = 0;
  SubjectOptions subjects;
  std::vector<std::string> reports;
};

Result<Shard> parse_shard(const std::string& text) {
  Shard shard;
  if (text.empty()) return shard;
  const char* end = text.data() + text.size();
  const auto index = std::from_chars(text.data(), end, shard.index);
  if (index.ec == std::errc() && index.ptr != end && *index.ptr == '/') {
    const auto count = std::from_chars(index.ptr + 1, end, shard.count);
    if (count.ec == std::errc() && count.ptr == end && shard.index >= 1 && shard.index <= shard.count)
      return shard;
  }
  return Error{"shard", text, "i/n with 1 <= i <= n"};
}

struct Report {
  std::string format, path;
};

Result<std::vector<Report>> parse_reports(const std::vector<std::string>& arguments) {
  std::vector<Report> reports;
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    const std::string format = argument.substr(0, equals);
    const bool known = format == "junit" || format == "json" || format == "md";
    if (!known || equals == std::string::npos || equals + 1 == argument.size()) {
      return Error{"report", argument, "junit=FILE, json=FILE or md=FILE"};
    }
    reports.push_back({format, argument.substr(equals + 1)});
  }
  return reports;
}

Status write_report(const Report& report, const GateReport& result) {
  if (report.format == "junit") return write_file(report.path, gate_junit(result));
  if (report.format == "json") return write_file(report.path, gate_json(result));
  return write_file(report.path, gate_markdown(result));
}

ExitCode gate(const Options& options) {
  Result<const Tier*> tier = tier_named(options.tier);
  if (!tier.ok()) return refuse(tier.error());
  Result<std::vector<Case>> cases = parse_case_list((*tier)->list);
  if (!cases.ok()) return refuse(cases.error());
  Result<Shard> shard = parse_shard(options.shard);
  if (!shard.ok()) return refuse(shard.error());
  Result<std::vector<Report>> reports = parse_reports(options.reports);
  if (!reports.ok()) return refuse(reports.error());
  for (const Report& report : *reports) {
    if (Status status = can_be_replaced(report.path)) return refuse(*status);
  }
  if (shard->count > static_cast<std::int64_t>(cases->size())) {
    return refuse(
        Error{"shard", options.shard, "n is at most the number of cases, " + std::to_string(cases->size())});
  }
  Result<std::vector<std::unique_ptr<Subject>>> subjects = open_subjects(options.subjects);
  if (!subjects.ok()) return refuse(subjects.error());

  Progress progress;
  GateOptions settings;
  settings.tier = std::string((*tier)->name);
  settings.floors = (*tier)->floors;
  settings.seed = options.seed;
  settings.shard = *shard;
  settings.time = std::chrono::duration<double>(options.time);
  settings.progress = [&](std::int64_t done, std::int64_t total, const Case& line,
                          const std::string& subject) {
    progress.show(fmt::format("{}/{} {} {}", done, total, subject, to_string(line)));
  };
  std::vector<Subject*> pointers;
  for (const auto& subject : *subjects) pointers.push_back(subject.get());
  const GateReport result = run_gate(pointers, *cases, settings);

  ExitCode code = result.exit_code();
  const std::string failures = gate_failures(result);
  if (!failures.empty()) fmt::print("{}\n", failures);
  fmt::print("{}\n{}", gate_table(result), gate_summary(result));
  for (const Report& report : *reports) {
    if (Status status = write_report(report, result)) code = more_urgent(code, refuse(*status));
  }
  return code;
}

}  // namespace

void add_gate(CLI::App& app, ExitCode& code) {
  CLI::App* command =
      app.add_subcommand("gate", "Judge every kernel over a list of cases: a table and an exit code");
  auto options = std::make_shared<Options>();
  command->add_option("--tier", options->tier, "smoke (under a minute), ci, nightly; default smoke");
  command
      ->add_option("--time", options->time,
                   "Start no case after this many seconds; what is left counts as SKIPPED")
      ->check(seconds());
  command->add_option("--seed", options->seed, "Added to the seed of every case: other data, same shapes")
      ->check(seed());
  command->add_option("--shard", options->shard, "i/n: every n-th case, starting with the i-th");
  add_subject_options(*command, options->subjects);
  command->add_option("--report", options->reports, "junit=FILE, json=FILE or md=FILE; repeatable")
      ->take_all();
  command->footer(
      "Green needs more than no failure: coverage below the tier's floor, a kernel that never ran, or less "
      "than 60 % of\n"
      "the outputs of real BF16 data with one acceptable value is red (exit code 3).\n"
      "Examples:\n"
      "  moe4 gate\n"
      "  moe4 gate --tier ci --report junit=gate.xml --report json=gate.json\n"
      "  moe4 gate --subject mxfp4_linear_tile_bf16 --seed 7\n"
      "Each failure starts and ends with the command that shows it again.");
  command->callback([options, &code] { code = gate(*options); });
}

}  // namespace moe4::oracle::cli
