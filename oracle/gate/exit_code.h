// What `moe4` returns to its caller, and how a status becomes an exit code (VER-14, docs/cli.md).
#pragma once

#include "oracle/judge/verdict.h"

namespace moe4::oracle {

enum class ExitCode : int {
  kPassed = 0,
  kMismatch = 1,  // an output, a finding or an unwritten byte is wrong
  kUsage = 2,     // bad arguments or bad input files
  kUnmet = 3,     // nothing ran, or a condition of the gate is not met
  kCrashed = 4,   // a subject crashed or ran out of its budget
  kSelfTest = 5,  // this build's own arithmetic cannot be trusted
};

// Of several codes the one that is reported: 2, then 5, 4, 1, 3, 0.
ExitCode more_urgent(ExitCode a, ExitCode b);

// PASSED, SKIPPED and UNSUPPORTED are 0 here: that something ran at all is counted apart.
ExitCode exit_code_of(VerdictStatus status);

}  // namespace moe4::oracle
