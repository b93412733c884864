#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "oracle/case/norm.h"
#include "oracle/cli/arithmetic_options.h"
#include "oracle/cli/command.h"
#include "oracle/cli/not_an_input.h"
#include "oracle/cli/policy_option.h"
#include "oracle/file/case_file.h"

namespace moe4::oracle::cli {
namespace {

struct Options {
  std::string file, out;
  ArithmeticOptions arithmetic;
  std::vector<std::string> policies;
};

ExitCode reference(const Options& options) {
  Result<std::vector<std::string>> policies = policy_assignments(options.policies);
  if (!policies.ok()) return refuse(policies.error());
  Result<CaseData> data = read_case(options.file, *policies);
  if (!data.ok()) return refuse_file(options.file, data.error());
  if (Status status = not_an_input(options.out, {options.file})) return refuse(*status);
  Result<Arithmetic> arithmetic = arithmetic_of(options.arithmetic);
  if (!arithmetic.ok()) return refuse(arithmetic.error());
  const bool norm = options.arithmetic.given.empty() && !options.arithmetic.ftz;
  Result<Norm> computed = norm ? norm_result(*data) : declared_result(*data, *arithmetic);
  if (!computed.ok()) return refuse_file(options.file, computed.error());
  ResultFile result;
  result.output = std::move(computed->output);
  if (!computed->written.empty()) result.written = std::move(computed->written);
  result.produced_by = norm ? "moe4 reference" : "moe4 reference" + words_of(options.arithmetic);
  result.line = data->line;
  result.policy = to_string(data->policy);
  if (Status status = write_result(options.out, result)) return refuse(*status);
  const std::string policy = to_string(data->policy);
  fmt::print("{}: output {} {}{}{}{}\n", options.out, name_of(result.output.dtype()),
             moe4::to_string(result.output.shape()), policy.empty() ? "" : ", ", policy,
             norm ? "" : "; declared: " + arithmetic_words(*arithmetic));
  if (result.written) {
    const auto rows = std::count(result.written->begin(), result.written->end(), 1);
    fmt::print("written: {} of {} rows\n", rows, result.written->size());
  }
  return ExitCode::kPassed;
}

}  // namespace

void add_reference(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("reference", "Compute the norm of a case file");
  auto options = std::make_shared<Options>();
  command->add_option("CASE", options->file, "A case file (docs/spec/case_file.md)")->required();
  command
      ->add_option("--out", options->out,
                   "The result file to write: `output`, and `written` for operations that leave rows alone")
      ->required();
  add_arithmetic_options(*command, options->arithmetic);
  add_policy_option(*command, options->policies);
  command->footer(
      "The norm: exact arithmetic and one rounding to nearest even (docs/spec/linear.md). With --profile, "
      "--order "
      "and the\n"
      "like what a healthy kernel of that arithmetic returns (docs/spec/profiles.md).\n"
      "Examples:\n"
      "  moe4 reference case.safetensors --out expected.safetensors\n"
      "  moe4 reference case.safetensors --out expected.safetensors --policy scale_nan=formula\n"
      "  moe4 reference case.safetensors --out kernel.safetensors --profile late --order seq --accumulation "
      "hopper");
  command->callback([options, &code] { code = reference(*options); });
}

}  // namespace moe4::oracle::cli
