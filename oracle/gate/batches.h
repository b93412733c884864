// Case lines in order, a few of them generated at a time for subjects that like several at once.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "oracle/subject/subject.h"

namespace moe4::oracle {

// The data of the case, generated at the first call.
using CaseSource = std::function<const Result<CaseData>&()>;

// Calls `each` for every line. Where a subject has a batch() above 1, the data of so many lines are generated
// ahead (at most 256 MiB of them) and those that it accepts are given to its prepare(), unless `stop` says
// that no more is to be run.
void for_each_case(std::span<Subject* const> subjects, const std::vector<Case>& lines,
                   const std::function<bool()>& stop,
                   const std::function<void(const Case& line, const CaseSource& data)>& each);

}  // namespace moe4::oracle
