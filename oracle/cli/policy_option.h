// --policy NAME=VALUE …
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "reference/policy.h"

namespace moe4::oracle::cli {

void add_policy_option(CLI::App& command, std::vector<std::string>& assignments);

// The single assignments of all arguments, each known to be one; an argument may hold several,
// blank-separated.
Result<std::vector<std::string>> policy_assignments(const std::vector<std::string>& arguments);

}  // namespace moe4::oracle::cli
