// The ledger of known faults: what may fail, why, and where that is tracked (docs/gate.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/gate/evaluate.h"

namespace moe4::oracle {

struct KnownFault {
  std::string subject;  // empty: any
  std::string where;    // pairs of a case line that a case must have, as "op=indexed dtype=bf16"; empty: any
  VerdictStatus status = VerdictStatus::kFailed;
  std::string link, reason;

  // Speaks this entry of such a case of such a subject?
  bool names(std::string_view of_subject, const Case& line) const;
};

using KnownFaults = std::vector<KnownFault>;

// Strict, as a declaration is: an Error names the entry and the field.
Result<KnownFaults> parse_known_faults(std::string_view json);

// A red result whose status an entry names is known: it is reported and not red. A PASSED one that an entry
// names is an unexpected pass. The first entry counts that names the case.
void mark_known(const KnownFaults& faults, CaseResult& result);

}  // namespace moe4::oracle
