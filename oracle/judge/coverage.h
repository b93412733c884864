// Which (code, scale byte) pairs a judged case could have told wrong (VER-10, VER-11).
#pragma once

#include <vector>

#include "oracle/judge/compare.h"

namespace moe4::oracle {

// due: as judged. bits_due: VER-3 (else VER-4). Precondition: valid data. Nothing is covered by op=combine,
// which has no weights.
Coverage cover(const CaseData& data, const Due& due, bool bits_due, const CompareRules& rules);

}  // namespace moe4::oracle
