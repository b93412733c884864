// What is new against an earlier report.
#pragma once

#include "oracle/gate/gate.h"

namespace moe4::oracle {

BaselineComparison compare_with_baseline(const GateReport& now, const GateReport& before);

}  // namespace moe4::oracle
