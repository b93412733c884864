#include "oracle/cli/fuzz_failure.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "oracle/report/write_file.h"

namespace moe4::oracle::cli {

void print_failure(const FuzzFailure& failure) {
  fmt::print("{}", failure.minimal.failure);
  fmt::print("minimal case{}, {} runs, shrunk from: {}\n\n",
             failure.shrink_complete ? "" : " (a limit ended the search: there may be a smaller one)",
             failure.shrink_runs, to_string(failure.found.line));
}

Status append_regression(const std::string& path, const FuzzFailure& failure) {
  std::string text;
  if (std::filesystem::exists(path)) {
    Result<std::string> old = read_file(path);
    if (!old.ok()) return old.error();
    text = std::move(*old);
  }
  Result<std::vector<Case>> known = parse_case_list(text);
  if (!known.ok()) return known.error();
  if (std::find(known->begin(), known->end(), failure.minimal.line) != known->end()) return {};
  if (!text.empty() && text.back() != '\n') text += '\n';
  text += fmt::format("# {} {}\n{}\n", failure.minimal.subject, name_of(failure.minimal.verdict.status),
                      to_string(failure.minimal.line));
  return write_file(path, text);
}

}  // namespace moe4::oracle::cli
