// The gate on a terminal: one row a subject, then what is wrong, then one line.
#pragma once

#include <string>

#include "oracle/gate/gate.h"

namespace moe4::oracle {

// kernel, cases, verdict, coverage, tightness, max ulp, findings, time.
std::string gate_table(const GateReport& report);

// Failure blocks (at most three a subject, then the replay commands of the others) and unmet conditions.
// Empty when there is nothing to say.
std::string gate_failures(const GateReport& report);

// Failures that the ledger of known faults names; empty if there are none.
std::string gate_known(const GateReport& report);

// New, fixed and still failing; empty without a baseline.
std::string gate_baseline(const GateReport& report);

// "PASSED: 6 kernels, 228 runs of 40 cases, 31.2 s"
std::string gate_summary(const GateReport& report);

}  // namespace moe4::oracle
