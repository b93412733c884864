#include "oracle/gate/gate.h"

#include "oracle/gate/batches.h"

namespace moe4::oracle {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<Case> cases_of_shard(const std::vector<Case>& cases, const GateOptions& options) {
  std::vector<Case> own;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto turn = static_cast<std::int64_t>(i) % options.shard.count;
    if (turn != options.shard.index - 1) continue;
    own.push_back(cases[i]);
    own.back().seed += options.seed;
  }
  return own;
}

}  // namespace

Floors floors_of_shard(const Floors& floors, const Shard& shard) {
  if (shard.count <= 1) return floors;
  Floors own = floors;
  own.pairs = 0;
  own.every_op = own.every_fill = own.every_routing = own.every_tail = false;
  own.real_singletons = 0;
  return own;
}

ExitCode GateReport::exit_code() const {
  ExitCode code = unusable.empty() ? ExitCode::kPassed : ExitCode::kUnmet;
  std::int64_t ran = 0;
  for (const Tally& tally : tallies) {
    code = more_urgent(code, tally.exit_code());
    ran += tally.ran;
  }
  return ran == 0 ? more_urgent(code, ExitCode::kUnmet) : code;
}

GateReport run_gate(std::span<Subject* const> subjects, const std::vector<Case>& cases,
                    const GateOptions& options) {
  const Clock::time_point start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start); };
  const std::vector<Case> own = cases_of_shard(cases, options);

  GateReport report;
  report.tier = options.tier;
  report.seed = options.seed;
  report.shard = options.shard;
  report.cases = static_cast<std::int64_t>(own.size());
  report.tallies.resize(subjects.size());
  for (std::size_t s = 0; s < subjects.size(); ++s)
    report.tallies[s].subject = subjects[s]->declaration().name;

  const auto total = static_cast<std::int64_t>(own.size() * subjects.size());
  std::int64_t done = 0;
  const auto out_of_time = [&] { return options.time.count() > 0 && elapsed() > options.time; };
  for_each_case(subjects, own, out_of_time, [&](const Case& line, const CaseSource& data) {
    const bool late = out_of_time();
    bool unusable = false;
    for (std::size_t s = 0; s < subjects.size(); ++s) {
      Subject& subject = *subjects[s];
      Tally& tally = report.tallies[s];
      if (options.progress) options.progress(done, total, line, tally.subject);
      ++done;
      if (std::optional<std::string> refusal = subject.declaration().refuses(line)) {
        tally.add(not_run(subject, line, VerdictStatus::kUnsupported, std::move(*refusal)));
        continue;
      }
      if (late) {
        tally.add(not_run(subject, line, VerdictStatus::kSkipped, "the time limit was reached"));
        continue;
      }
      if (!data().ok()) {
        const std::string reason = data().error().message();
        if (!unusable) report.unusable.push_back(to_string(line) + ": " + reason);
        unusable = true;
        tally.add(not_run(subject, line, VerdictStatus::kSkipped, reason));
        continue;
      }
      tally.add(evaluate(subject, line, data().value()));
    }
  });
  const Floors floors = floors_of_shard(options.floors, options.shard);
  for (std::size_t s = 0; s < subjects.size(); ++s) {
    report.tallies[s].close(subjects[s]->declaration(), own, floors);
  }
  report.seconds = elapsed().count();
  return report;
}

}  // namespace moe4::oracle
