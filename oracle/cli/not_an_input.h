// A file to write may not be one of those that are read.
#pragma once

#include <string>
#include <vector>

#include "reference/status.h"

namespace moe4::oracle::cli {

// An Error if `output` names the same file as one of `inputs`, under whatever name.
Status not_an_input(const std::string& output, const std::vector<std::string>& inputs);

}  // namespace moe4::oracle::cli
