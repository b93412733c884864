// The gate: every subject against every case of a list, tallied, with floors.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "oracle/gate/hold_cases.h"
#include "oracle/gate/known.h"
#include "oracle/gate/pairwise.h"
#include "oracle/gate/tally.h"

namespace moe4::oracle {

struct Shard {
  std::int64_t index = 1, count = 1;  // the index-th of count, from 1
};

struct GateOptions {
  std::string tier;  // for reports only
  Floors floors;
  std::uint64_t seed = 0;  // added to the seed of every case; 0: the list's own data
  Shard shard;
  std::chrono::duration<double> time{0};  // no case starts after this; 0: no limit
  // After the list the cases of each family's pairwise cover, each against its own subject; every pair must
  // be judged.
  bool pairs = false;
  HoldCases hold = HoldCases::kFew;
  // After the list the list again, with other data each time, until `time` is up: round n adds this and n to
  // the seed of every case.
  std::optional<std::uint64_t> rounds;
  KnownFaults known;
  // Not empty: why nothing more is to be started, "interrupted by SIGINT".
  std::function<std::string()> stop;
  // Called before each case and subject.
  std::function<void(std::int64_t done, std::int64_t total, const Case& line, const std::string& subject)>
      progress;
  std::function<void(const CaseResult&)> judged;  // called after each
};

// What an earlier report said of the same cases (oracle/gate/baseline.h).
struct BaselineComparison {
  // Red and not known, as "SUBJECT: CASE LINE": now only, before only though it passes now, both times; and
  // before only and not run now.
  std::vector<std::string> fresh, fixed, still, gone;
};

struct GateReport {
  std::string tier;
  Floors floors;
  std::uint64_t seed = 0;
  Shard shard;
  std::string list;         // SHA-256 of the whole list: parts of one gate agree in it
  std::int64_t cases = 0;   // after sharding, all rounds
  std::int64_t rounds = 0;  // after the list, begun
  std::optional<std::uint64_t> rounds_seed;
  std::vector<std::string> unusable;  // cases of the list that cannot be generated, with the reason
  std::vector<std::int64_t> missing;  // shards that are not in a merged report
  std::string interrupted;            // why it ended early; empty: it did not
  std::vector<Tally> tallies;         // one a subject, in the order given
  std::vector<PairsJudged> pairs;     // where they were asked for, of the whole list
  std::optional<BaselineComparison> baseline;
  double seconds = 0;  // wall time

  // What keeps the gate as a whole from being green, a sentence each: nothing ran, an unusable case, a
  // missing shard, an interruption, pairs of values that were not judged.
  std::vector<std::string> unmet() const;
  // With an unmet condition, here or of a subject, never 0.
  ExitCode exit_code() const;
};

// The data of a case is generated once and shared by all subjects.
//
// With more than one shard only the floor on the share of cases that ran is judged: a shard alone does not
// hold every pair, fill, routing and tail. merge_reports() (oracle/gate/merge.h) judges the others.
GateReport run_gate(std::span<Subject* const> subjects, const std::vector<Case>& cases,
                    const GateOptions& options);

// What the tallies, which are whole, have of the pairs of values.
std::vector<PairsJudged> pairs_of_tallies(const std::vector<Tally>& tallies);

// The same floors for one of several shards, as above.
Floors floors_of_shard(const Floors& floors, const Shard& shard);

}  // namespace moe4::oracle
