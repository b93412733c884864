#include <fmt/core.h>

#include <memory>

#include "oracle/cli/command.h"
#include "oracle/cli/policy_option.h"
#include "oracle/file/case_file.h"

namespace moe4::oracle::cli {
namespace {

struct Options {
  std::string file, out;
  std::vector<std::string> policies;
};

ExitCode reference(const Options& options) {
  Result<std::vector<std::string>> policies = policy_assignments(options.policies);
  if (!policies.ok()) return refuse(policies.error());
  Result<CaseData> data = read_case(options.file, *policies);
  if (!data.ok()) return refuse_file(options.file, data.error());
  Result<ExpertLinearDims> dims = validate_mxfp4_expert_linear(data->inputs(), data->policy);
  if (!dims.ok()) return refuse_file(options.file, dims.error());
  ResultFile result;
  result.output = Tensor(data->latent_tokens.dtype(), {dims->tokens, dims->out});
  result.produced_by = "moe4 reference";
  if (Status status = mxfp4_expert_linear(data->inputs(), result.output.mutable_view(), data->policy)) {
    return refuse_file(options.file, *status);
  }
  if (Status status = write_result(options.out, result)) return refuse(*status);
  const std::string policy = to_string(data->policy);
  fmt::print("{}: output {} {}{}{}\n", options.out, name_of(result.output.dtype()),
             moe4::to_string(result.output.shape()), policy.empty() ? "" : ", ", policy);
  return ExitCode::kPassed;
}

}  // namespace

void add_reference(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("reference", "Compute the norm of a case file");
  auto options = std::make_shared<Options>();
  command->add_option("CASE", options->file, "A case file (docs/spec/case_file.md)")->required();
  command->add_option("--out", options->out, "The result file to write; it holds `output`")->required();
  add_policy_option(*command, options->policies);
  command->footer(
      "The norm: exact arithmetic and one rounding to nearest even (docs/spec/linear.md).\n"
      "Examples:\n"
      "  moe4 reference case.safetensors --out expected.safetensors\n"
      "  moe4 reference case.safetensors --out expected.safetensors --policy scale_nan=formula");
  command->callback([options, &code] { code = reference(*options); });
}

}  // namespace moe4::oracle::cli
