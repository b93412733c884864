// Where the wrong outputs lie, in words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "oracle/case/case_data.h"

namespace moe4::oracle {

// "0..7, 12, 40..41 (and 3 more)": ascending numbers as ranges, at most `most` of them.
std::string ranges(const std::vector<std::int64_t>& ascending, std::size_t most = 8);

// A line each: rows, outputs, blocks or tiles, experts. wrong: flat indices into [rows,O], ascending and not
// empty.
std::vector<std::string> describe_clusters(const CaseData& data, const std::vector<std::int64_t>& wrong);

}  // namespace moe4::oracle
