// What is due of a case: the norm's bits, or the proved interval (VER-3, VER-4).
#pragma once

#include "oracle/judge/compare.h"

namespace moe4::oracle {

// VER-3: the norm's bits and nothing else.
Result<Due> bits_due(const CaseData& data);

// VER-4: the intervals of the declared arithmetic; an Error where no theorem covers it.
Result<Due> interval_due(const CaseData& data, const Arithmetic& arithmetic);

}  // namespace moe4::oracle
