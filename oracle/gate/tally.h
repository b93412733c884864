// What one subject's runs add up to, and whether that is enough to be believed.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "oracle/gate/evaluate.h"
#include "oracle/gate/exit_code.h"

namespace moe4::oracle {

// What a subject must have been shown for its green to count. A subject below a floor is MISTRUSTED.
struct Floors {
  std::int64_t pairs = 0;      // (code, scale byte) pairs covered, of 4096, in each weight format
  bool every_op = false;       // each operation and weight format that the subject takes
  bool every_fill = false;     // each fill that the subject accepts
  bool every_routing = false;  // each routing
  bool every_tail = false;     // tokens, outputs and inputs beside a multiple of the usual tiles
  bool every_layout = false;   // each layout that the subject names
  double ran_share = 1;        // of the listed cases that the subject accepts, how many must have run
  double real_singletons = 0;  // share of singleton intervals over `real` BF16 data

  friend bool operator==(const Floors&, const Floors&) = default;
};

// A dimension has been seen with a tail when it was larger than the tile and no multiple of it.
enum class Tail { kTokens, kOutputs, kInputs };
std::string_view name_of(Tail tail);
std::vector<Tail> tails_of(const Case& line);

// The shares of outputs whose bits were due.
struct Tightness {
  double outputs = 0, singletons = 0;
  void add(const Verdict& verdict) {
    outputs += static_cast<double>(verdict.outputs);
    singletons += verdict.singleton_share * static_cast<double>(verdict.outputs);
  }
  void add(const Tightness& other) {
    outputs += other.outputs;
    singletons += other.singletons;
  }
  std::optional<double> share() const {
    return outputs > 0 ? std::optional<double>(singletons / outputs) : std::nullopt;
  }
};

struct Tally {
  std::string subject;
  std::string declared;  // as JSON, for whoever judges the floors later (oracle/gate/merge.h)
  std::int64_t listed = 0, ran = 0, passed = 0, red = 0, known = 0, unsupported = 0, skipped = 0;
  VerdictStatus status =
      VerdictStatus::kPassed;      // the most urgent of all cases; MISTRUSTED if only `unmet` speaks
  std::vector<std::string> unmet;  // gate conditions, one sentence each
  Coverage coverage;
  // Judged, with an output that counted.
  std::set<std::pair<Op, WeightFormat>> ops;  // combine has no format of its own
  std::set<Fill> fills;
  // Besides, another weight or another row would have been seen in an output (VER-10).
  std::set<Routing> routings;
  std::set<Tail> tails;
  std::set<std::string> layouts;
  Tightness all, real_bf16;
  double max_ulp = 0;
  std::int64_t bits_compared = 0;    // outputs held to the bits of the declared arithmetic (VER-17)
  std::int64_t findings = 0;         // that make a run red
  std::int64_t formal_findings = 0;  // that change no status (VER-7)
  double seconds = 0;
  std::uint64_t thread_instructions = 0;
  std::vector<CaseResult> results;

  void add(CaseResult result);
  // Another part of the same list; the order of the results is the caller's.
  void add(const Tally& part);

  // Judges the floors; call once, after the last add. `cases` is the list that was to be run.
  void close(const Declaration& declaration, const std::vector<Case>& cases, const Floors& floors);

  ExitCode exit_code() const;

 private:
  void worsen(VerdictStatus other);
};

}  // namespace moe4::oracle
