#include "oracle/gate/gate.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <random>

#include "oracle/cli/command.h"
#include "oracle/cli/interrupt.h"
#include "oracle/cli/number_options.h"
#include "oracle/cli/progress.h"
#include "oracle/cli/regressions.h"
#include "oracle/cli/reports.h"
#include "oracle/cli/subjects.h"
#include "oracle/cli/tier.h"
#include "oracle/gate/baseline.h"
#include "oracle/report/write_file.h"

namespace moe4::oracle::cli {
namespace {

struct Options {
  std::string tier = "smoke", shard, regressions, known;
  double time = 0;
  std::optional<std::uint64_t> seed;
  SubjectOptions subjects;
  ReportOptions reports;
};

constexpr double kNightlySeconds = 3600;

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

Result<KnownFaults> read_known(const std::string& path) {
  if (path.empty()) return KnownFaults{};
  Result<std::string> text = read_file(path);
  if (!text.ok()) return text.error();
  Result<KnownFaults> faults = parse_known_faults(*text);
  if (faults.ok()) return faults;
  return Error{path + ": " + faults.error().field, faults.error().value, faults.error().rule};
}

// The lines of --regressions first, then the tier's; each once.
Result<std::vector<Case>> list_of(const Options& options, const Tier& tier) {
  Result<std::vector<Case>> list = parse_case_list(tier.list);
  if (!list.ok() || options.regressions.empty()) return list;
  Result<std::vector<Case>> lines = read_regressions(options.regressions);
  if (!lines.ok()) return lines.error();
  for (Case& line : *list) {
    if (std::find(lines->begin(), lines->end(), line) == lines->end()) lines->push_back(std::move(line));
  }
  return lines;
}

std::uint64_t new_seed() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

ExitCode gate(const Options& options) {
  Result<const Tier*> tier = tier_named(options.tier);
  if (!tier.ok()) return refuse(tier.error());
  Result<std::vector<Case>> cases = list_of(options, **tier);
  if (!cases.ok()) return refuse(cases.error());
  Result<Shard> shard = parse_shard(options.shard);
  if (!shard.ok()) return refuse(shard.error());
  Result<KnownFaults> known = read_known(options.known);
  if (!known.ok()) return refuse(known.error());
  Result<std::vector<ReportTarget>> targets = parse_reports(options.reports.reports);
  if (!targets.ok()) return refuse(targets.error());
  std::optional<GateReport> before;
  if (!options.reports.baseline.empty()) {
    Result<GateReport> read = read_report(options.reports.baseline);
    if (!read.ok()) return refuse(read.error());
    before = std::move(*read);
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
  settings.pairs = (*tier)->pairs;
  settings.hold = (*tier)->hold;
  settings.shard = *shard;
  settings.known = std::move(*known);
  settings.time = std::chrono::duration<double>(options.time);
  if ((*tier)->rounds) {
    settings.rounds = options.seed ? *options.seed : new_seed();
    if (options.time == 0) settings.time = std::chrono::duration<double>(kNightlySeconds);
    fmt::print("seed {:#x}: --seed {:#x} draws the same data again\n", *settings.rounds, *settings.rounds);
  } else {
    settings.seed = options.seed.value_or(0);
  }
  settings.stop = [] { return std::string(interruption()); };
  settings.progress = [&](std::int64_t done, std::int64_t total, const Case& line,
                          const std::string& subject) {
    progress.show(fmt::format("{}/{} {} {}", done, total, subject, to_string(line)));
  };
  ExitCode code = ExitCode::kPassed;
  settings.judged = [&](const CaseResult& result) {
    // At once: a killed gate loses at most the case in flight.
    if (options.regressions.empty() || !is_red(result)) return;
    if (Status status = append_regression(options.regressions, result))
      code = more_urgent(code, refuse(*status));
  };
  std::vector<Subject*> pointers;
  for (const auto& subject : *subjects) pointers.push_back(subject.get());
  finish_case_when_interrupted();
  GateReport result = run_gate(pointers, *cases, settings);
  if (before) result.baseline = compare_with_baseline(result, *before);
  code = more_urgent(code, publish(result, *targets));
  if (const std::string why = gpu_left_out(options.subjects); !why.empty()) {
    fmt::print("cuda: SKIPPED({})\n", why);
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
      ->add_option(
          "--time", options->time,
          "Start no case after this many seconds; what is left of the list counts as SKIPPED. nightly: "
          "default 3600")
      ->check(seconds());
  command
      ->add_option(
          "--seed", options->seed,
          "Added to the seed of every case: other data, same shapes. nightly: of the rounds after the list; "
          "default a new one")
      ->check(seed());
  command->add_option("--shard", options->shard,
                      "i/n: every n-th case, starting with the i-th; moe4 merge joins them");
  add_subject_options(*command, options->subjects);
  add_report_options(*command, options->reports);
  command->add_option("--regressions", options->regressions,
                      "A list of cases that is run first; lines that fail are added to it");
  command->add_option("--known", options->known, "The ledger of known faults: a JSON file (docs/gate.md)");
  command->footer(
      "Green needs more than no failure: coverage below the tier's floor, a kernel that never ran, or less "
      "than 60 % of\n"
      "the outputs of real BF16 data with one acceptable value is red (exit code 3).\n"
      "Examples:\n"
      "  moe4 gate\n"
      "  moe4 gate --tier ci --report junit=gate.xml --report html=gate.html --baseline yesterday.json\n"
      "  moe4 gate --tier nightly --time 7200 --regressions found.cases --known known.json\n"
      "  moe4 gate --subject mxfp4_linear_tile_bf16 --seed 7\n"
      "Each failure starts and ends with the command that shows it again.");
  command->callback([options, &code] { code = gate(*options); });
}

}  // namespace moe4::oracle::cli
