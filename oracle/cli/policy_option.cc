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

Result<std::vector<std::string>> policy_assignments(const std::vector<std::string>& arguments) {
  std::vector<std::string> assignments;
  Policy scratch;
  for (const std::string& argument : arguments) {
    std::istringstream words(argument);
    for (std::string word; words >> word;) {
      if (Status status = set_policy(scratch, word)) return *status;
      assignments.push_back(word);
    }
  }
  return assignments;
}

}  // namespace moe4::oracle::cli
