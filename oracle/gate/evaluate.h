// One case against one subject: accepted? run, judged, and, when red, explained.
#pragma once

#include <memory>
#include <string>

#include "oracle/judge/verdict.h"
#include "oracle/subject/subject.h"

namespace moe4::oracle {

struct CaseResult {
  std::string subject;
  std::string selector;  // what selects the subject on a command line
  Case line;
  Verdict verdict;
  double seconds = 0;                     // of the subject's run
  std::uint64_t thread_instructions = 0;  // executor subjects
  std::string failure;           // the whole failure block, replay command first and last; empty unless red
  std::string known;             // "LINK: REASON" of the ledger's entry that names it (oracle/gate/known.h)
  bool unexpected_pass = false;  // it passed, although the ledger names it
};

// Everything but PASSED, SKIPPED and UNSUPPORTED (VER rules).
bool is_red(VerdictStatus status);
bool is_red(const CaseResult& result);  // and not known

// Is the fault named when the verdict is FAILED (oracle/diagnose)? It takes up to some seconds.
enum class NameFault { kNo, kYes };

// `data` was generated from `line`, once for all subjects.
CaseResult evaluate(Subject& subject, const Case& line, const CaseData& data,
                    NameFault name = NameFault::kYes);

// The same from the line alone. A line that cannot be generated is SKIPPED, with the reason.
CaseResult evaluate(Subject& subject, const Case& line, NameFault name = NameFault::kYes);

// Holds a result that passed against other runs of the subject (VER-18, VER-19). data: of result.line.
void hold_relations(Subject& subject, const CaseData& data, CaseResult& result);
// Cheap enough for that?
bool is_small(const CaseData& data);

// The verdict of a case that never ran.
CaseResult not_run(const Subject& subject, const Case& line, VerdictStatus status, std::string reason);

}  // namespace moe4::oracle
