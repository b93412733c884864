#include "oracle/gate/gate.h"

#include <set>
#include <tuple>

#include "oracle/fixtures/sha256.h"
#include "oracle/gate/batches.h"
#include "oracle/generate/generate.h"

namespace moe4::oracle {
namespace {

using Clock = std::chrono::steady_clock;

// Of each subject so many failures get their fault named: a kernel that fails everywhere must not take hours.
constexpr std::int64_t kNamedFaults = 3;

// The list, and behind it the cases that are one subject's alone.
struct Lines {
  std::vector<Case> list, covers;
  std::vector<std::string> owners;  // of each of covers

  std::vector<Case> all() const {
    std::vector<Case> lines = list;
    lines.insert(lines.end(), covers.begin(), covers.end());
    return lines;
  }
};

Lines lines_of(const std::vector<Case>& cases, std::span<Subject* const> subjects,
               const GateOptions& options) {
  Lines lines;
  lines.list = cases;
  if (!options.pairs) return lines;
  std::vector<const Declaration*> declarations;
  for (const Subject* subject : subjects) declarations.push_back(&subject->declaration());
  for (PairwiseCover& cover : pairwise_covers(declarations)) {
    for (CoverCase& one : cover.cases) {
      lines.owners.push_back(std::move(one.subject));
      lines.covers.push_back(std::move(one.line));
    }
  }
  return lines;
}

Lines lines_of_shard(const Lines& whole, const GateOptions& options) {
  Lines own;
  std::int64_t place = 0;
  const auto take = [&](const std::vector<Case>& from, std::vector<Case>& to, bool owned) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (place++ % options.shard.count != options.shard.index - 1) continue;
      to.push_back(from[i]);
      to.back().seed += options.seed;
      if (owned) own.owners.push_back(whole.owners[i]);
    }
  };
  take(whole.list, own.list, false);
  take(whole.covers, own.covers, true);
  return own;
}

// The cases that HoldCases asks for, each once.
class Held {
 public:
  explicit Held(HoldCases hold) : hold_(hold) {}

  // Notes that the case is held, if it is.
  bool take(std::size_t subject, std::int64_t round, const Case& line, const Verdict& verdict) {
    if (hold_ == HoldCases::kNone || verdict.status != VerdictStatus::kPassed || line.tokens < 2)
      return false;
    const Routing routing = hold_ == HoldCases::kEachRouting ? line.routing : Routing::kUniform;
    return done_.insert({subject, round, line.op, line.weights, verdict.proof.has_value(), routing}).second;
  }

 private:
  using Key = std::tuple<std::size_t, std::int64_t, Op, WeightFormat, bool, Routing>;
  HoldCases hold_;
  std::set<Key> done_;
};

std::string identity_of(const std::vector<Case>& cases) {
  std::string text;
  for (const Case& line : cases) text += to_string(line) + "\n";
  return sha256_hex(text);
}

class GateRun {
 public:
  GateRun(std::span<Subject* const> subjects, const GateOptions& options)
      : subjects_(subjects), options_(options), held_(options.hold) {
    report.tier = options.tier;
    report.floors = options.floors;
    report.seed = options.seed;
    report.shard = options.shard;
    report.tallies.resize(subjects.size());
    for (std::size_t s = 0; s < subjects.size(); ++s) {
      report.tallies[s].subject = subjects[s]->declaration().name;
      report.tallies[s].declared = to_json(subjects[s]->declaration());
    }
  }

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  // Every case, or why it did not run.
  void whole_list(const Lines& lines) {
    report.cases = static_cast<std::int64_t>(lines.list.size() + lines.covers.size());
    total_ = report.cases * static_cast<std::int64_t>(subjects_.size());
    const auto stop = [&] { return !why_no_more().empty(); };
    for_each_case(subjects_, lines.list, stop,
                  [&](const Case& line, const CaseSource& data) { one_case(line, data, why_no_more()); });
    std::size_t next = 0;
    for_each_case(subjects_, lines.covers, stop, [&](const Case& line, const CaseSource& data) {
      owner_ = lines.owners[next++];
      one_case(line, data, why_no_more());
    });
    owner_.clear();
  }

  // As many more of them as the time allows.
  void more_rounds(const std::vector<Case>& lines, std::uint64_t seed) {
    report.rounds_seed = seed;
    while (options_.time.count() > 0 && why_no_more().empty() && !lines.empty()) {
      std::vector<Case> round = lines;
      ++report.rounds;
      for (Case& line : round) line.seed += seed + static_cast<std::uint64_t>(report.rounds);
      total_ += static_cast<std::int64_t>(round.size() * subjects_.size());
      for_each_case(
          subjects_, round, [&] { return !why_no_more().empty(); },
          [&](const Case& line, const CaseSource& data) {
            if (!why_no_more().empty()) return;
            ++report.cases;
            one_case(line, data, "");
          });
    }
  }

  GateReport report;

 private:
  std::string why_no_more() {
    if (report.interrupted.empty() && options_.stop) report.interrupted = options_.stop();
    if (!report.interrupted.empty()) return report.interrupted;
    return options_.time.count() > 0 && seconds() > options_.time.count() ? "the time limit was reached" : "";
  }

  void one_case(const Case& line, const CaseSource& data, const std::string& late) {
    bool noted = false;  // that it is unusable
    for (std::size_t s = 0; s < subjects_.size(); ++s) {
      Tally& tally = report.tallies[s];
      if (options_.progress) options_.progress(done_, total_, line, tally.subject);
      ++done_;
      CaseResult result = judged(s, line, data, late, noted);
      mark_known(options_.known, result);
      if (options_.judged) options_.judged(result);
      tally.add(std::move(result));
    }
  }

  CaseResult judged(std::size_t s, const Case& line, const CaseSource& data, const std::string& late,
                    bool& noted) {
    Subject& subject = *subjects_[s];
    if (!owner_.empty() && owner_ != subject.declaration().name) {
      return not_run(subject, line, VerdictStatus::kUnsupported,
                     "a case of the pairwise cover, for " + owner_);
    }
    if (std::optional<std::string> refusal = subject.declaration().refuses(line)) {
      return not_run(subject, line, VerdictStatus::kUnsupported, std::move(*refusal));
    }
    if (!late.empty()) return not_run(subject, line, VerdictStatus::kSkipped, late);
    if (data().ok()) return held(s, line, data().value());
    const std::string reason = data().error().message();
    if (!noted) report.unusable.push_back(to_string(line) + ": " + reason);
    noted = true;
    return not_run(subject, line, VerdictStatus::kSkipped, reason);
  }

  CaseResult held(std::size_t s, const Case& line, const CaseData& data) {
    const NameFault name = report.tallies[s].red < kNamedFaults ? NameFault::kYes : NameFault::kNo;
    CaseResult result = evaluate(*subjects_[s], line, data, name);
    if (is_small(data) && held_.take(s, report.rounds, line, result.verdict)) {
      hold_relations(*subjects_[s], data, result);
    }
    return result;
  }

  std::span<Subject* const> subjects_;
  const GateOptions& options_;
  Held held_;
  std::string owner_;  // of the case in flight, if it has one
  Clock::time_point start_ = Clock::now();
  std::int64_t done_ = 0, total_ = 0;
};

}  // namespace

Floors floors_of_shard(const Floors& floors, const Shard& shard) {
  if (shard.count <= 1) return floors;
  Floors own = floors;
  own.pairs = 0;
  own.every_op = own.every_fill = own.every_routing = own.every_tail = own.every_layout = false;
  own.real_singletons = 0;
  return own;
}

namespace {

// ": no device: …", if every run was skipped for one reason.
std::string why_nothing_ran(const std::vector<Tally>& tallies) {
  std::set<std::string> reasons;
  for (const Tally& tally : tallies) {
    for (const CaseResult& result : tally.results) {
      if (result.verdict.status == VerdictStatus::kSkipped) reasons.insert(result.verdict.reason);
    }
  }
  return reasons.size() == 1 ? ": " + *reasons.begin() : "";
}

}  // namespace

std::vector<std::string> GateReport::unmet() const {
  std::vector<std::string> sentences;
  std::int64_t ran = 0;
  for (const Tally& tally : tallies) ran += tally.ran;
  if (ran == 0) sentences.push_back("nothing ran" + why_nothing_ran(tallies));
  if (!interrupted.empty()) sentences.push_back(interrupted + ": the list was not run to its end");
  for (const std::int64_t absent : missing) {
    sentences.push_back("shard " + std::to_string(absent) + " is missing");
  }
  for (const std::string& reason : unusable) sentences.push_back("unusable case: " + reason);
  for (const PairsJudged& family : pairs) {
    if (family.lost.empty()) continue;
    sentences.push_back(to_string(family) + ", among the others " + family.lost.front());
  }
  return sentences;
}

ExitCode GateReport::exit_code() const {
  ExitCode code = unmet().empty() ? ExitCode::kPassed : ExitCode::kUnmet;
  for (const Tally& tally : tallies) code = more_urgent(code, tally.exit_code());
  return code;
}

GateReport run_gate(std::span<Subject* const> subjects, const std::vector<Case>& cases,
                    const GateOptions& options) {
  GateRun run(subjects, options);
  const Lines whole = lines_of(cases, subjects, options);
  const Lines own = lines_of_shard(whole, options);
  run.report.list = identity_of(whole.all());
  run.whole_list(own);
  if (options.rounds) run.more_rounds(own.list, *options.rounds);
  const Floors floors = floors_of_shard(options.floors, options.shard);
  for (std::size_t s = 0; s < subjects.size(); ++s) {
    run.report.tallies[s].close(subjects[s]->declaration(), own.all(), floors);
  }
  if (options.pairs && options.shard.count <= 1) run.report.pairs = pairs_of_tallies(run.report.tallies);
  run.report.seconds = run.seconds();
  return std::move(run.report);
}

std::vector<PairsJudged> pairs_of_tallies(const std::vector<Tally>& tallies) {
  std::vector<Declaration> declarations;
  std::vector<const Declaration*> pointers;
  std::vector<std::span<const CaseResult>> results;
  for (const Tally& tally : tallies) declarations.push_back(parse_declaration(tally.declared).value());
  for (std::size_t t = 0; t < tallies.size(); ++t) {
    pointers.push_back(&declarations[t]);
    results.emplace_back(tallies[t].results);
  }
  return pairs_judged(pointers, results);
}

}  // namespace moe4::oracle
