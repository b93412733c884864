// What is wrong with a run, as the diagnosis sees it: case and output alone.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "oracle/faults/fault.h"
#include "oracle/judge/compare.h"

namespace moe4::oracle {

// Valid as long as data, norm and run are.
class WrongOutputs {
 public:
  // due: what the verdict was about.
  WrongOutputs(const CaseData& data, const Norm& norm, const SubjectRun& run, Due due,
               const CompareRules& rules);

  const CaseData& data() const { return data_; }
  const Norm& norm() const { return norm_; }
  const SubjectRun& run() const { return run_; }
  // Flat indices into [rows,O], ascending: wrong by value, or not written.
  const std::vector<std::int64_t>& wrong() const { return wrong_; }
  // Of those, and of rows that were written or left alone against the contract.
  const std::set<std::int64_t>& rows() const { return rows_; }
  const std::set<std::int64_t>& columns() const { return columns_; }
  bool any() const { return !wrong_.empty() || flagged_; }

  // How much one output differs by the fault and by nothing else: the value that was got, less the norm's;
  // and how far rounding may carry it. Not finite where one of them is not.
  struct Step {
    double by = 0, slack = 0;
  };
  Step step(std::int64_t index) const;

  // How well a faulty run explains this one.
  struct Score {
    double bits = 0;             // of evidence for it, over chance (docs/faults.md)
    std::int64_t explained = 0;  // wrong outputs that it gives
    std::int64_t beside = 0;     // right outputs that it would make wrong
    bool perfect = false;        // all of them, and nothing beside
  };
  Score score(const SubjectRun& planted) const;

 private:
  bool same(std::int64_t index, std::uint64_t planted) const;
  bool flags_match(const SubjectRun& planted) const;

  const CaseData& data_;
  const Norm& norm_;
  const SubjectRun& run_;
  Due due_;
  CompareRules rules_;
  Encodings encodings_;
  std::vector<std::int64_t> wrong_;
  std::vector<double> gain_;  // of each wrong output
  std::set<std::int64_t> rows_, columns_;
  bool flagged_ = false;
};

}  // namespace moe4::oracle
