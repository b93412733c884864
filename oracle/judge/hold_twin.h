// A run on a GPU against the same kernel on the executor (VER-21).
#pragma once

#include "oracle/judge/verdict.h"

namespace moe4::oracle {

// verdict: of `run` (which ended), by judge(). Counts the outputs that differ, and sets MODEL where only the
// executor's model of the chip can be at fault.
void hold_twin(const CaseData& data, const Declaration& declaration, const SubjectRun& run,
               const SubjectRun& twin, Verdict& verdict);

}  // namespace moe4::oracle
