// A mutation report as text.
#pragma once

#include <string>

#include "oracle/mutation/outcome.h"

namespace moe4::oracle {

// One row a kind: mutants, killed, rate, what killed them; then every survivor with its line and change, the
// wrong entries of the ledger, and one line that says whether the floor is met.
std::string kill_table(const MutationReport& report);

}  // namespace moe4::oracle
