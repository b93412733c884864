#include <fmt/core.h>

#include <memory>

#include "oracle/case/output_rows.h"
#include "oracle/cli/arithmetic_options.h"
#include "oracle/cli/command.h"
#include "oracle/cli/not_an_input.h"
#include "oracle/cli/policy_option.h"
#include "oracle/diagnose/diagnose.h"
#include "oracle/file/case_file.h"
#include "oracle/judge/identify.h"
#include "oracle/judge/verdict.h"
#include "oracle/report/failure.h"
#include "oracle/report/json.h"
#include "oracle/report/write_file.h"
#include "oracle/subject/subject.h"

namespace moe4::oracle::cli {
namespace {

struct Options {
  std::string file, actual, json;
  ArithmeticOptions arithmetic;
  bool bits = false;
  std::vector<std::string> policies;
};

// What the caller says of whatever wrote the result: it accepts everything, and computes as the options say.
Result<Declaration> declaration_of(const Options& options, const Policy& policy) {
  Result<Arithmetic> arithmetic = arithmetic_of(options.arithmetic);
  if (!arithmetic.ok()) return arithmetic.error();
  Declaration d = make_reference_subject()->declaration();
  d.name = "file";
  d.arithmetic = *arithmetic;
  d.profile = arithmetic_value(d.arithmetic, "profile");
  d.any_accumulation = !options.arithmetic.given.contains("accumulation");
  d.bits_declared = options.bits;
  d.zero = policy.zero;
  if (const auto reason = options.bits ? bits_undetermined(d) : std::nullopt) {
    return Error{"--bits", "declared", "VER-17: " + *reason + "; give --order and --accumulation"};
  }
  return d;
}

std::string replay(const Options& options) {
  std::string command = "moe4 check " + shell_word(options.file) + " " + shell_word(options.actual);
  command += words_of(options.arithmetic);
  if (options.bits) command += " --bits declared";
  for (const std::string& policy : options.policies) command += " --policy " + shell_word(policy);
  return command;
}

ExitCode check(const Options& options) {
  Result<std::vector<std::string>> policies = policy_assignments(options.policies);
  if (!policies.ok()) return refuse(policies.error());
  Result<CaseData> data = read_case(options.file, *policies);
  if (!data.ok()) return refuse_file(options.file, data.error());
  // What the file says of whoever it was made for, unless the caller says otherwise.
  const Result<std::string> profile = recorded_profile(options.file);
  if (!profile.ok()) return refuse_file(options.file, profile.error());
  Options given = options;
  if (!profile->empty()) given.arithmetic.given.try_emplace("profile", *profile);
  Result<Declaration> declaration = declaration_of(given, data->policy);
  if (!declaration.ok()) return refuse(declaration.error());
  Result<ResultFile> actual = read_result(options.actual);
  if (!actual.ok()) return refuse_file(options.actual, actual.error());
  if (Status status = check_recorded_case(*data, *actual)) return refuse_file(options.actual, *status);
  if (!options.json.empty()) {
    if (Status status = not_an_input(options.json, {options.file, options.actual})) return refuse(*status);
  }

  SubjectRun run;
  run.output = std::move(actual->output);
  if (actual->written) run.written = std::move(*actual->written);
  Verdict verdict = judge(*data, *declaration, run);
  if (verdict.mismatched > 0) verdict.where.push_back(identification(*data, *declaration, run.output));
  verdict.fault = fault_lines(*data, *declaration, run, verdict);
  if (!options.json.empty()) {
    if (Status status = write_file(options.json, verdict_json(verdict, output_shape(*data).dtype))) {
      return refuse(*status);
    }
  }
  if (verdict.status == VerdictStatus::kPassed) {
    fmt::print("PASSED: {} outputs by {}\n", verdict.outputs, verdict.rule);
    fmt::print("bits were due for {:.1f} % of them; largest distance from the norm {:g} ulp\n",
               100 * verdict.singleton_share, verdict.max_ulp);
    if (verdict.bits_compared > 0) {
      fmt::print("{} of them have the bits of the declared arithmetic\n", verdict.bits_compared);
    }
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
  command
      ->add_option("ACTUAL", options->actual, "The result file: `output`, and `written` where there is one")
      ->required();
  add_arithmetic_options(*command, options->arithmetic);
  command
      ->add_option_function<std::string>(
          "--bits", [options](const std::string& word) { options->bits = word == "declared"; },
          "declared: the outputs must have the very bits of the arithmetic given; default any")
      ->check(CLI::IsMember({"any", "declared"}));
  add_policy_option(*command, options->policies);
  command->add_option("--json", options->json, "Also write the verdict as JSON to this file");
  command->footer(
      "No tolerance is set by hand: an output must lie in the interval that is proved for the declared "
      "arithmetic.\n"
      "Without --order every order is allowed, without --accumulation FP32 and every tensor core, and the "
      "share of\n"
      "outputs with one acceptable value, which is printed, is smaller. True options make the verdict "
      "sharper;\n"
      "with --bits declared the bits of that arithmetic are asked for (VER-17).\n"
      "Examples:\n"
      "  moe4 check case.safetensors actual.safetensors\n"
      "  moe4 check case.safetensors actual.safetensors --order 'lanes(32,8)+shfl' --json verdict.json\n"
      "Exit code 0 passed, 1 wrong, 2 a file or an option is bad, 3 the verdict says little (MISTRUSTED, "
      "NOT_EXACT).");
  command->callback([options, &code] { code = check(*options); });
}

}  // namespace moe4::oracle::cli
