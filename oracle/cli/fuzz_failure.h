// How fuzz and shrink show what they found.
#pragma once

#include <string>

#include "oracle/gate/fuzz.h"

namespace moe4::oracle::cli {

// The minimal case's failure block, and from what and how it was shrunk.
void print_failure(const FuzzFailure& failure);

// Adds the minimal line to a case list, with the subject and the verdict as a comment. A line that the list
// already holds is not added again. The file is replaced whole.
Status append_regression(const std::string& path, const FuzzFailure& failure);

}  // namespace moe4::oracle::cli
