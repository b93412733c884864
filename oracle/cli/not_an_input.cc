#include "oracle/cli/not_an_input.h"

#include <filesystem>

namespace moe4::oracle::cli {

Status not_an_input(const std::string& output, const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    std::error_code ignored;
    if (output != input && !std::filesystem::equivalent(output, input, ignored)) continue;
    return Error{"out", output, "is an input of this command, " + input + "; name another file"};
  }
  return {};
}

}  // namespace moe4::oracle::cli
