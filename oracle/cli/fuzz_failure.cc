#include "oracle/cli/fuzz_failure.h"

#include <fmt/core.h>

namespace moe4::oracle::cli {

void print_failure(const FuzzFailure& failure) {
  fmt::print("{}", failure.minimal.failure);
  fmt::print("minimal case{}, {} runs, shrunk from: {}\n\n",
             failure.shrink_complete ? "" : " (a limit ended the search: there may be a smaller one)",
             failure.shrink_runs, to_string(failure.found.line));
}

}  // namespace moe4::oracle::cli
