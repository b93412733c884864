// The gate: every subject against every case of a list, tallied, with floors.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <vector>

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
  // Called before each case and subject.
  std::function<void(std::int64_t done, std::int64_t total, const Case& line, const std::string& subject)>
      progress;
};

struct GateReport {
  std::string tier;
  std::uint64_t seed = 0;
  Shard shard;
  std::int64_t cases = 0;             // after sharding
  std::vector<std::string> unusable;  // cases of the list that cannot be generated, with the reason
  std::vector<Tally> tallies;         // one a subject, in the order given
  double seconds = 0;                 // wall time

  // Nothing ran at all, an unusable case, or an unmet condition of a subject: never 0.
  ExitCode exit_code() const;
};

// The data of a case is generated once and shared by all subjects.
//
// With more than one shard only the floor on the share of cases that ran is judged: a shard alone does not
// hold every pair, fill, routing and tail.
GateReport run_gate(std::span<Subject* const> subjects, const std::vector<Case>& cases,
                    const GateOptions& options);

// The same floors for one of several shards, as above.
Floors floors_of_shard(const Floors& floors, const Shard& shard);

}  // namespace moe4::oracle
