#include "oracle/cli/policy_option.h"

#include <sstream>

namespace moe4::oracle::cli {

void add_policy_option(CLI::App& command, std::vector<std::string>& assignments) {
  command
      .add_option("--policy", assignments,
                  "Corner policy NAME=VALUE over the file's own, e.g. scale_nan=formula (moe4 list "
                  "policies); repeatable")
      ->take_all();
}

Status apply_policies(const std::vector<std::string>& assignments, Policy& policy) {
  for (const std::string& argument : assignments) {
    std::istringstream words(argument);
    for (std::string word; words >> word;) {
      if (Status status = set_policy(policy, word)) return status;
    }
  }
  return {};
}

}  // namespace moe4::oracle::cli
