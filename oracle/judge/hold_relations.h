// A run that passed, held against other runs of the same subject: the same case again (VER-18), and cases
// that must give the same bits (VER-19).
#pragma once

#include "oracle/judge/verdict.h"
#include "oracle/subject/subject.h"

namespace moe4::oracle {

// Runs the subject some times more. A relation that does not hold makes the verdict FAILED; a run that
// crashes or takes too long gives it that status. Precondition: the verdict is PASSED; data is the case that
// it is about.
void hold_relations(Subject& subject, const CaseData& data, Verdict& verdict);

}  // namespace moe4::oracle
