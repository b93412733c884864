#include "oracle/cli/arithmetic_options.h"

#include "oracle/report/failure.h"

namespace moe4::oracle::cli {
namespace {

const char* help_of(const std::string& key) {
  if (key == "profile") return "Where it rounds (moe4 list profiles); default once";
  if (key == "order") return "The order of its additions over I (moe4 list orders); default any";
  if (key == "accumulation")
    return "How an accumulator adds (moe4 list accumulations); default f32_sequential";
  if (key == "products") return "fma: products enter the sum unrounded; rounded: they do not; default fma";
  if (key == "weight") return "What it multiplies with, mxfp4: exact or bf16; default exact";
  return "How it makes weights of codes, int4 (moe4 list dequants); default norm";
}

}  // namespace

void add_arithmetic_options(CLI::App& command, ArithmeticOptions& options) {
  for (const std::string_view name : arithmetic_keys()) {
    const std::string key(name);
    if (key == "ftz") {
      command.add_flag("--ftz", options.ftz, "It may flush subnormals to zero");
      continue;
    }
    command.add_option_function<std::string>(
        "--" + key, [&options, key](const std::string& value) { options.given[key] = value; }, help_of(key));
  }
}

Result<Arithmetic> arithmetic_of(const ArithmeticOptions& options) {
  Arithmetic arithmetic;
  arithmetic.ftz = options.ftz;
  for (const auto& [key, value] : options.given) {
    if (Status status = set_arithmetic(arithmetic, key, value)) return *status;
  }
  return arithmetic;
}

std::string words_of(const ArithmeticOptions& options) {
  std::string text;
  for (const auto& [key, value] : options.given) text += " --" + key + " " + shell_word(value);
  return text + (options.ftz ? " --ftz" : "");
}

}  // namespace moe4::oracle::cli
