// Names the fault behind a wrong run: every fault of the catalogue, with every place that the wrong outputs
// allow, is planted in the case and compared with what the subject returned (docs/faults.md).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "oracle/diagnose/follows.h"
#include "oracle/faults/fault.h"
#include "oracle/judge/verdict.h"

namespace moe4::oracle {

enum class Confidence { kNone, kLow, kHigh };

struct FaultMatch {
  const Fault* fault = nullptr;
  std::string where;           // the place, in words
  std::int64_t explained = 0;  // of the wrong outputs
  std::int64_t beside = 0;     // right outputs that it would make wrong
  bool perfect = false;        // all of the wrong outputs and nothing beside
  double bits = 0;             // evidence for it, over chance and over its number of places
};

struct Diagnosis {
  // Best first. More than one: on this case they give the same outputs, or nearly as good ones.
  std::vector<FaultMatch> matches;
  Confidence confidence = Confidence::kNone;
  std::int64_t wrong = 0;  // outputs
  std::int64_t tried = 0;  // faults
  bool complete = true;    // false: the time was up before all had been tried
  // All outputs lie inside their intervals, some with other bits than are promised (VER-17): whose bits they
  // are.
  std::optional<Followed> followed;

  bool names(std::string_view fault) const;
};

struct DiagnoseOptions {
  const std::vector<Fault>* catalogue = nullptr;  // null: fault_catalogue()
  std::chrono::duration<double> time{5};
};

// Precondition: the run ended, its output has the shape and dtype of the operation, and the verdict on it was
// FAILED. An Error where the reference refuses the case.
Result<Diagnosis> diagnose(const CaseData& data, const Declaration& declaration, const SubjectRun& run,
                           const DiagnoseOptions& options = {});

// Lines of a failure report; each ends with '\n'.
std::string diagnosis_text(const Diagnosis& diagnosis);

// The same for a run and its verdict; empty unless it is FAILED for its output or for what was written.
std::string fault_lines(const CaseData& data, const Declaration& declaration, const SubjectRun& run,
                        const Verdict& verdict);

}  // namespace moe4::oracle
