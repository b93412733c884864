// Random cases against subjects until one fails or the time is up; what fails is shrunk to one line.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "oracle/gate/evaluate.h"
#include "oracle/gate/exit_code.h"
#include "oracle/shrink/shrink.h"

namespace moe4::oracle {

struct FuzzFailure {
  CaseResult found;    // as drawn
  CaseResult minimal;  // shrunk; the same kind of failure
  std::int64_t shrink_runs = 0;
  bool shrink_complete = false;
};

struct FuzzOptions {
  std::chrono::duration<double> time{60};
  std::uint64_t seed = 1;
  std::int64_t cases = 0;  // stop after this many; 0: only the time counts
  ShrinkLimits shrink;
  std::function<void(std::int64_t cases, const Case& line, const std::string& subject)> progress;
  // Called at once, before the failure is shrunk, and again when it has been: a killed run loses at most the
  // case in flight.
  std::function<void(const CaseResult&)> failed;
  std::function<void(const FuzzFailure&)> found;
  std::function<bool()> stop;  // true: draw no more, shrink no further
};

struct FuzzReport {
  std::int64_t cases = 0;     // drawn
  std::int64_t unusable = 0;  // of these, could not be generated
  std::int64_t weak = 0;  // runs that say little either way: MISTRUSTED or NOT_EXACT, a matter of the case
  std::int64_t runs = 0;  // all others: passed or failed
  std::vector<FuzzFailure> failures;
  double seconds = 0;

  ExitCode exit_code() const;  // nothing judged is kUnmet
};

// A subject that has failed is not run again: the next failures would mostly be the same one.
FuzzReport run_fuzz(std::span<Subject* const> subjects, const FuzzOptions& options);

// Is `other` a failure of the same kind: equal status, both or neither by the bits of the declared arithmetic
// (VER-17), and, if the device found something, the same first check?
bool same_kind(const Verdict& failure, const Verdict& other);

// Shrinks a red result of this subject and evaluates the minimal line.
FuzzFailure shrink_failure(Subject& subject, CaseResult found, const ShrinkLimits& limits);

}  // namespace moe4::oracle
