// Any number of runs of one case, judged by what the case asks of one declared subject.
#pragma once

#include "oracle/judge/requirement.h"

namespace moe4::oracle {

class Judge {
 public:
  // Works out what is due. Both must outlive it.
  Judge(const CaseData& data, const Declaration& declaration);

  // May be called from several threads at once.
  Verdict verdict(const SubjectRun& run) const;

 private:
  void judge_values(const SubjectRun& run, Verdict& verdict) const;

  const CaseData& data_;
  const Declaration& declaration_;
  Requirement requirement_;
};

}  // namespace moe4::oracle
