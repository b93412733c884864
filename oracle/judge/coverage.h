// Which (code, scale byte) pairs a judged case could have told wrong (VER-10, VER-11).
#pragma once

#include <vector>

#include "oracle/judge/compare.h"

namespace moe4::oracle {

// due: of every output, as judged. bits_due: VER-3 (else VER-4). Precondition: valid inputs.
Coverage cover(const CaseData& data, const std::vector<OutputInterval>& due, bool bits_due,
               const CompareRules& rules);

}  // namespace moe4::oracle
