// A gate report as JUnit XML: a test suite a subject, a test case a case line, and one for the gate's own
// conditions.
#pragma once

#include <string>

#include "oracle/gate/gate.h"

namespace moe4::oracle {

std::string gate_junit(const GateReport& report);

}  // namespace moe4::oracle
