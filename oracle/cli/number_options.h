// Checks of numbers on the command line, before they are converted.
#pragma once

#include <CLI/CLI.hpp>

namespace moe4::oracle::cli {

// A finite number above zero.
CLI::Validator seconds();

// Decimal, or hexadecimal after 0x, below 2^64 (CASE-3).
CLI::Validator seed();

}  // namespace moe4::oracle::cli
