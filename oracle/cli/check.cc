#include <fmt/core.h>

#include <memory>

#include "oracle/cli/command.h"
#include "oracle/cli/policy_option.h"
#include "oracle/file/case_file.h"
#include "oracle/judge/verdict.h"
#include "oracle/report/failure.h"
#include "oracle/report/json.h"
#include "oracle/report/write_file.h"

namespace moe4::oracle::cli {
namespace {

struct Options {
  std::string file, actual, order = "any", profile = "once", products = "fma", zero, json;
  bool ftz = false;
  std::vector<std::string> policies;
};

// What the caller says of whatever wrote the result: it accepts everything, and computes as the options say.
Result<Declaration> declaration_of(const Options& options, const Policy& policy) {
  if (options.profile != "once") return Error{"profile", options.profile, "unknown; the known one is once"};
  if (options.products != "fma" && options.products != "rounded") {
    return Error{"products", options.products, "fma or rounded (docs/declaration.md)"};
  }
  Result<Order> order = parse_order(options.order);
  if (!order.ok()) return order.error();
  Declaration d;
  d.name = "file";
  d.dtypes = {Dtype::kBF16, Dtype::kF16, Dtype::kF32, Dtype::kF64};
  d.mixture_dtypes = d.dtypes;
  d.shared_dtypes = d.dtypes;
  d.ids_dtypes = {Dtype::kI32, Dtype::kI64};
  d.any_policy = true;
  d.profile = options.profile;
  d.arithmetic.order = *order;
  d.arithmetic.product_rounded = options.products == "rounded";
  d.arithmetic.ftz = options.ftz;
  d.zero = policy.zero;
  return d;
}

std::string replay(const Options& options) {
  std::string command = "moe4 check " + shell_word(options.file) + " " + shell_word(options.actual);
  if (options.order != "any") command += " --order " + shell_word(options.order);
  if (options.products != "fma") command += " --products " + options.products;
  if (options.ftz) command += " --ftz";
  for (const std::string& policy : options.policies) command += " --policy " + shell_word(policy);
  return command;
}

ExitCode check(const Options& options) {
  Result<std::vector<std::string>> policies = policy_assignments(options.policies);
  if (!policies.ok()) return refuse(policies.error());
  Result<CaseData> data = read_case(options.file, *policies);
  if (!data.ok()) return refuse_file(options.file, data.error());
  Result<Declaration> declaration = declaration_of(options, data->policy);
  if (!declaration.ok()) return refuse(declaration.error());
  Result<ExpertLinearDims> dims = validate_mxfp4_expert_linear(data->inputs(), data->policy);
  if (!dims.ok()) return refuse_file(options.file, dims.error());
  Result<ResultFile> actual = read_result(options.actual);
  if (!actual.ok()) return refuse_file(options.actual, actual.error());

  SubjectRun run;
  run.output = std::move(actual->output);
  const Verdict verdict = judge(*data, *declaration, run);
  if (!options.json.empty()) {
    if (Status status = write_file(options.json, verdict_json(verdict, data->latent_tokens.dtype()))) {
      return refuse(*status);
    }
  }
  if (verdict.status == VerdictStatus::kPassed) {
    fmt::print("PASSED: {} outputs by {}\n", verdict.outputs, verdict.rule);
    fmt::print("bits were due for {:.1f} % of them; largest distance from the norm {:g} ulp\n",
               100 * verdict.singleton_share, verdict.max_ulp);
    return ExitCode::kPassed;
  }
  fmt::print("{}", failure_block(*data, *declaration, verdict, replay(options)));
  return exit_code_of(verdict.status);
}

}  // namespace

void add_check(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("check", "Judge a result file against its case file");
  auto options = std::make_shared<Options>();
  command->add_option("CASE", options->file, "The case file")->required();
  command->add_option("ACTUAL", options->actual, "The result file; its `output` is judged")->required();
  command->add_option("--profile", options->profile, "Where it rounds: once (moe4 list profiles)");
  command->add_option(
      "--order", options->order,
      "The order of its additions over I: any, seq, groups(B), lanes(L,V)+shfl, lanes(L,V)+seq");
  command->add_option("--products", options->products,
                      "fma: products enter the sum unrounded; rounded: they do not");
  command->add_flag("--ftz", options->ftz, "It may flush subnormals to zero");
  add_policy_option(*command, options->policies);
  command->add_option("--json", options->json, "Also write the verdict as JSON to this file");
  command->footer(
      "No tolerance is set by hand: an output must lie in the interval that is proved for the declared "
      "arithmetic.\n"
      "Without --order every order is allowed, and the share of outputs with one acceptable value, which is "
      "printed,\n"
      "is smaller. A true --order makes the verdict sharper.\n"
      "Examples:\n"
      "  moe4 check case.safetensors actual.safetensors\n"
      "  moe4 check case.safetensors actual.safetensors --order 'lanes(32,8)+shfl' --json verdict.json\n"
      "Exit code 0 passed, 1 wrong, 2 a file or an option is bad.");
  command->callback([options, &code] { code = check(*options); });
}

}  // namespace moe4::oracle::cli
