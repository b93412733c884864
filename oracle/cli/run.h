// Running and judging case lines: moe4 run, and moe4 ptx run.
#pragma once

#include <string>

#include "oracle/cli/subjects.h"
#include "oracle/gate/exit_code.h"

namespace moe4::oracle::cli {

// `lines` is a case line or @FILE. Prints each verdict.
ExitCode run_cases(const std::string& lines, const SubjectOptions& subjects);

}  // namespace moe4::oracle::cli
