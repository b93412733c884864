// moe4 selftest without --mutate: the catalogue of faults and the healthy controls (docs/faults.md).
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "oracle/gate/exit_code.h"

namespace moe4::oracle::cli {

struct FaultOptions {
  std::vector<std::string> faults, controls;
  std::string json, cases;
  bool list = false, quick = false;
};

// None of them goes with --mutate.
void add_fault_options(CLI::App& command, FaultOptions& options, CLI::Option* mutated);

// seed: of the parameters that faults draw.
ExitCode selftest_faults(const FaultOptions& options, std::uint64_t seed);

}  // namespace moe4::oracle::cli
