// --profile, --order, --accumulation, --products, --ftz, --weight, --dequant (docs/spec/profiles.md, PRO-19).
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>

#include "oracle/subject/arithmetic_words.h"

namespace moe4::oracle::cli {

struct ArithmeticOptions {
  std::map<std::string, std::string> given;  // by key
  bool ftz = false;
};

void add_arithmetic_options(CLI::App& command, ArithmeticOptions& options);

Result<Arithmetic> arithmetic_of(const ArithmeticOptions& options);

// " --profile late --ftz": what was given, for a replay command.
std::string words_of(const ArithmeticOptions& options);

}  // namespace moe4::oracle::cli
