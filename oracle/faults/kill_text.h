// What a self-test found, as text.
#pragma once

#include <string>

#include "oracle/faults/selftest.h"

namespace moe4::oracle {

// A row a fault, the healthy controls, survivors and false alarms in full, a summary.
std::string fault_table(const SelftestReport& report);

// {"moe4.selftest": 1, "faults": [...], "peers": [...], "controls": ..., "alarms": [...], "passed": ...}
std::string selftest_json(const SelftestReport& report);

// The catalogue as the table of docs/faults.md.
std::string catalogue_markdown();

}  // namespace moe4::oracle
