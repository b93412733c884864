// What is due of a case: the norm's bits, or the proved interval (VER-3, VER-4).
#pragma once

#include "oracle/judge/compare.h"

namespace moe4::oracle {

// VER-3: the norm's bits and nothing else.
Result<Due> bits_due(const CaseData& data);

// VER-4: the intervals of the declared arithmetic; an Error where no theorem covers it.
Result<Due> interval_due(const CaseData& data, const Arithmetic& arithmetic);

// VER-16: the same for whichever accumulation of ACC-1 it was, that of `arithmetic` aside: the hull of their
// intervals. An Error where no accumulation has one.
Result<Due> interval_due_of_any_unit(const CaseData& data, const Arithmetic& arithmetic);

}  // namespace moe4::oracle
