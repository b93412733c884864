// The file behind --regressions: case lines that have failed, each with a comment that says where.
#pragma once

#include <string>
#include <vector>

#include "oracle/gate/evaluate.h"

namespace moe4::oracle::cli {

// The lines of the file; none if there is no such file. An Error names the file; it also says so if the file
// could not be replaced.
Result<std::vector<Case>> read_regressions(const std::string& path);

// Adds the line of a failed result, unless it is there; in its place if `instead` is there. The file is
// replaced whole.
Status append_regression(const std::string& path, const CaseResult& failed, const Case* instead = nullptr);

}  // namespace moe4::oracle::cli
