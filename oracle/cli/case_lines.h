// 'CASE LINE' or @FILE.
#pragma once

#include <string>
#include <vector>

#include "oracle/case/case.h"

namespace moe4::oracle::cli {

// The one line, or every line of the list file behind '@'.
Result<std::vector<Case>> read_case_lines(const std::string& argument);

}  // namespace moe4::oracle::cli
