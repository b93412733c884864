// The first column of i at which a subject leaves what it declares: the case is run again with tokens that
// are zero from some column on, and what is due of each such case is worked out anew. What a weight and the
// sum over slots would hide is seen where the slot stands alone: weight 1, the others 0, no shared output.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "oracle/judge/verdict.h"
#include "oracle/subject/subject.h"

namespace moe4::oracle {

struct FirstStep {
  enum class Kind {
    kColumn,   // the columns below `in` alone give what is due, with column `in` they do not
    kNoToken,  // wrong with every token zero: it is not the sum over i
    kGone,     // the whole case, run again, was right there
    kSlow,     // a run takes too long for so many
  };
  Kind kind = Kind::kColumn;
  Mismatch at;  // the output, and what was got and due with column `in`
  std::int64_t in = 0;
  std::optional<std::int64_t> slot;  // that stands alone; none: the case as it is
  std::int64_t runs = 0;
};

// The worst output of the verdict is looked at. Nothing for combine, which has no i, where a run did not end
// well, or where the data are large. Precondition: the verdict is FAILED by values; it took `seconds` to run.
std::optional<FirstStep> first_step(Subject& subject, const CaseData& data, const Verdict& verdict,
                                    double seconds,
                                    std::chrono::duration<double> time = std::chrono::seconds(5));

// A line of a failure report, with its end.
std::string first_step_text(const CaseData& data, const FirstStep& step);

}  // namespace moe4::oracle
