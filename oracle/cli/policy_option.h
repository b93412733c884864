// --policy NAME=VALUE …
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "reference/policy.h"

namespace moe4::oracle::cli {

void add_policy_option(CLI::App& command, std::vector<std::string>& assignments);

// Sets each assignment; one argument may hold several, blank-separated.
Status apply_policies(const std::vector<std::string>& assignments, Policy& policy);

}  // namespace moe4::oracle::cli
