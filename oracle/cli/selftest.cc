#include <fmt/core.h>

#include <memory>

#include "oracle/case/nearest.h"
#include "oracle/cli/case_lines.h"
#include "oracle/cli/command.h"
#include "oracle/cli/number_options.h"
#include "oracle/cli/progress.h"
#include "oracle/cli/selftest_faults.h"
#include "oracle/cli/tier.h"
#include "oracle/mutation/kill_table.h"
#include "oracle/report/write_file.h"
#include "oracle/subject/declaration_file.h"
#include "oracle/subject/gpu/mutation_run.h"
#include "oracle/subject/gpu/ptx_subject.h"

namespace moe4::oracle::cli {
namespace {

struct Options {
  std::string mutate, tier = "smoke", cases, equivalent, declare;
  std::vector<std::string> kinds, mutants;
  std::int64_t limit = 0;
  std::uint64_t seed = 1;
  double time = 0;
  int jobs = 0;
  FaultOptions faults;
};

Result<std::set<ptx::Mutation>> parse_kinds(const std::vector<std::string>& names) {
  std::set<ptx::Mutation> kinds;
  for (const std::string& name : names) {
    const std::optional<ptx::Mutation> kind = ptx::mutation_named(name);
    if (!kind) {
      std::vector<std::string> known;
      for (const ptx::Mutation mutation : ptx::all_mutations()) known.emplace_back(name_of(mutation));
      return Error{"kinds", name, "unknown; the nearest known one is " + nearest_name(name, known)};
    }
    kinds.insert(*kind);
  }
  return kinds;
}

Result<Ledger> read_ledger(const std::string& path) {
  if (path.empty()) return parse_ledger(builtin_ledger());
  Result<std::string> text = read_file(path);
  if (!text.ok()) return text.error();
  Result<Ledger> ledger = parse_ledger(*text);
  if (!ledger.ok())
    return Error{path + ": " + ledger.error().field, ledger.error().value, ledger.error().rule};
  return ledger;
}

Result<PtxProgram> read_program(const std::string& ptx_path, const std::string& declaration_path) {
  Result<std::string> text = read_file(ptx_path);
  if (!text.ok()) return text.error();
  Result<Declaration> declaration = read_declaration(declaration_path);
  if (!declaration.ok()) return declaration.error();
  return ptx_file_program(std::move(*text), ptx_path, *declaration);
}

Result<std::vector<Case>> cases_of(const Options& options) {
  if (!options.cases.empty()) return read_case_lines(options.cases);
  Result<const Tier*> tier = tier_named(options.tier);
  if (!tier.ok()) return tier.error();
  return parse_case_list((*tier)->list);
}

ExitCode mutate(const Options& options) {
  Result<std::vector<Case>> cases = cases_of(options);
  if (!cases.ok()) return refuse(cases.error());
  Result<std::set<ptx::Mutation>> kinds = parse_kinds(options.kinds);
  if (!kinds.ok()) return refuse(kinds.error());
  Result<Ledger> ledger = read_ledger(options.equivalent);
  if (!ledger.ok()) return refuse(ledger.error());
  Result<PtxProgram> program = options.declare.empty() ? kernel_program(options.mutate)
                                                       : read_program(options.mutate, options.declare);
  if (!program.ok()) return refuse(program.error());

  Progress progress;
  MutationOptions settings;
  settings.kinds = *kinds;
  settings.names = {options.mutants.begin(), options.mutants.end()};
  settings.limit = options.limit;
  settings.seed = options.seed;
  settings.time = std::chrono::duration<double>(options.time);
  settings.jobs = options.jobs;
  settings.ledger = *ledger;
  settings.progress = [&](std::int64_t done, std::int64_t total, const std::string& mutant) {
    progress.show(fmt::format("{}/{} {}", done, total, mutant));
  };
  const Result<MutationReport> report = run_mutants(*program, *cases, settings);
  if (!report.ok()) {
    refuse(report.error());
    return ExitCode::kMismatch;
  }
  fmt::print("{}", kill_table(*report));
  return report->passed() ? ExitCode::kPassed : ExitCode::kSelfTest;
}

}  // namespace

void add_selftest(CLI::App& app, ExitCode& code) {
  CLI::App* command =
      app.add_subcommand("selftest", "Plant faults and count how many of them the gate's cases see");
  auto options = std::make_shared<Options>();
  CLI::Option* mutated = command->add_option(
      "--mutate", options->mutate,
      "A kernel (moe4 list subjects), or with --declare a PTX file: each statement is changed in turn");
  add_fault_options(*command, options->faults, mutated);
  command->add_option("--declare", options->declare, "The declaration of a PTX file (docs/ptx_subject.md)")
      ->needs(mutated);
  command->add_option("--kinds", options->kinds, "Only these mutations, as barrier,offset")
      ->delimiter(',')
      ->needs(mutated);
  command->add_option("--mutant", options->mutants, "Only this mutant, by its name in the table; repeatable")
      ->needs(mutated);
  command->add_option("--limit", options->limit, "So many mutants, drawn by --seed; default: all")
      ->check(CLI::PositiveNumber)
      ->needs(mutated);
  command
      ->add_option("--seed", options->seed,
                   "Which mutants --limit draws, or where faults are planted; default 1")
      ->check(seed());
  command
      ->add_option("--tier", options->tier, "The cases that a mutant must pass: smoke (default), ci, nightly")
      ->needs(mutated);
  command
      ->add_option("--against", options->cases,
                   "The cases that a mutant must pass: a line, or @FILE with one line a case")
      ->excludes("--tier")
      ->needs(mutated);
  command->add_option("--time", options->time, "Start no mutant after this many seconds")
      ->check(seconds())
      ->needs(mutated);
  command->add_option("--jobs", options->jobs, "Threads; default: all cores")
      ->check(CLI::PositiveNumber)
      ->needs(mutated);
  command
      ->add_option("--equivalent", options->equivalent,
                   "The ledger of equivalent mutants; default: the built-in one")
      ->needs(mutated);
  command->footer(
      "Without --mutate the catalogue of faults is planted in the cases of smoke and ci (docs/faults.md): "
      "exit "
      "code 5\nwhen one is not caught, or a healthy kernel is not PASSED. With it: exit code 5 when fewer "
      "than 95 % of the mutants are killed, or when the ledger of equivalent mutants "
      "is "
      "wrong:\n"
      "an entry that matches no mutant, or whose mutant is killed.\n"
      "Examples:\n"
      "  moe4 selftest\n"
      "  moe4 selftest --fault one_nibble_step --fault store_ties_away --seed 7\n"
      "  moe4 selftest --control 'order=lanes(32,8)+shfl' --control 'order=split(2) as order=seq'\n"
      "  moe4 selftest --mutate mxfp4_linear_tile_bf16\n"
      "  moe4 selftest --mutate kernel.ptx --declare kernel.json --time 60\n"
      "  moe4 selftest --mutate mxfp4_linear_warp_f32 --kinds barrier,order,predicate --limit 100");
  command->callback([options, &code] {
    code = options->mutate.empty() ? selftest_faults(options->faults, options->seed) : mutate(*options);
  });
}

}  // namespace moe4::oracle::cli
