#include <fmt/core.h>

#include <memory>

#include "oracle/case/nearest.h"
#include "oracle/cli/command.h"
#include "oracle/cli/subjects.h"
#include "oracle/cli/tier.h"
#include "oracle/gate/tiers.h"

namespace moe4::oracle::cli {
namespace {

struct Options {
  std::string what;
  std::string tier = "smoke";
  bool json = false;
};

constexpr const char* kKinds = "subjects, cases, policies, fills, routings, profiles";

ExitCode list_subjects(bool json) {
  Result<std::vector<std::unique_ptr<Subject>>> subjects = open_subjects(subject_names());
  if (!subjects.ok()) return refuse(subjects.error());
  for (const auto& subject : *subjects) {
    const Declaration& d = subject->declaration();
    if (json) {
      fmt::print("{}", to_json(d));
      continue;
    }
    std::string dtypes;
    for (const Dtype dtype : d.dtypes) dtypes += (dtypes.empty() ? "" : ",") + std::string(name_of(dtype));
    fmt::print("{:<28}  op={} weights={} dtypes={} profile={} order={}\n", d.name, d.op, d.weights, dtypes,
               d.profile, to_string(d.arithmetic.order));
  }
  return ExitCode::kPassed;
}

ExitCode list_cases(const std::string& name) {
  Result<const Tier*> tier = tier_named(name);
  if (!tier.ok()) return refuse(tier.error());
  Result<std::vector<Case>> cases = parse_case_list((*tier)->list);
  if (!cases.ok()) return refuse(cases.error());
  for (const Case& c : *cases) fmt::print("{}\n", to_string(c));
  return ExitCode::kPassed;
}

void list_policies() {
  for (const PolicyInfo& p : policies()) {
    fmt::print("{:<12}  default {:<6}  one of: {:<18}  {}\n", p.name, p.default_value, p.values, p.meaning);
  }
}

std::string_view meaning_of(Fill fill) {
  switch (fill) {
    case Fill::kExact8:
      return "sparse; sums below 2^8 units, so every order and intermediate of 8 bits is exact and the bits "
             "are due";
    case Fill::kExact24:
      return "dense; sums below 2^24 units, so every order of FP32 additions gives the same sum";
    case Fill::kBits:
      return "codes and scale bytes uniform inside windows over all of 0..255";
    case Fill::kReal:
      return "Gaussian tokens, weights as quantisation-aware training leaves them";
    case Fill::kOnehot:
      return "each token holds one non-zero element: reads single weights";
    case Fill::kPositive:
      return "no cancellation: every term has the same sign";
    case Fill::kNonfinite:
      return "NaN and Inf among tokens, mixture weights, shared output and scales";
    case Fill::kCancel:
      return "large terms that cancel to small sums";
    case Fill::kSlabCancel:
      return "slabs along I that cancel, with tiny terms: finds wrong order declarations";
    case Fill::kTies:
      return "sums at and beside the midpoints of the output dtype";
    case Fill::kSubnormal:
      return "subnormal operands and results";
  }
  return "";
}

std::string_view meaning_of(Routing routing) {
  switch (routing) {
    case Routing::kUniform:
      return "distinct experts, uniformly";
    case Routing::kHot:
      return "a few experts get most slots";
    case Routing::kOne:
      return "one expert gets all";
    case Routing::kEmpty:
      return "some experts get no token";
    case Routing::kDuplicate:
      return "tokens that name an expert more than once";
    case Routing::kBoundary:
      return "tokens per expert at a tile and one beside it";
    case Routing::kPoison:
      return "NaN in everything that may not be read";
  }
  return "";
}

ExitCode list(const Options& options) {
  if (options.what == "subjects") return list_subjects(options.json);
  if (options.what == "cases") return list_cases(options.tier);
  if (options.what == "policies") {
    list_policies();
  } else if (options.what == "fills") {
    for (const Fill fill : all_fills()) fmt::print("{:<12}  {}\n", name_of(fill), meaning_of(fill));
  } else if (options.what == "routings") {
    for (const Routing routing : all_routings())
      fmt::print("{:<12}  {}\n", name_of(routing), meaning_of(routing));
  } else if (options.what == "profiles") {
    fmt::print("{:<12}  {}\n", "once", "FP32 (or wider) up to one rounding to the output dtype");
  } else {
    const std::vector<std::string> known = {"subjects", "cases", "policies", "fills", "routings", "profiles"};
    return refuse("cannot list '" + options.what + "'; the nearest known one is '" +
                  nearest_name(options.what, known) + "' (" + kKinds + ")");
  }
  return ExitCode::kPassed;
}

}  // namespace

void add_list(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("list", "List what this build knows");
  auto options = std::make_shared<Options>();
  command->add_option("WHAT", options->what, kKinds)->required();
  command->add_option("--tier", options->tier, "list cases: of this tier (smoke, ci, nightly)");
  command->add_flag("--json", options->json, "list subjects: whole declarations, one JSON object each");
  command->footer(
      "Examples:\n"
      "  moe4 list subjects            names for --subject\n"
      "  moe4 list cases --tier ci     case lines, ready for `moe4 run @FILE`\n"
      "  moe4 list policies            names for --policy and for case lines");
  command->callback([options, &code] { code = list(*options); });
}

}  // namespace moe4::oracle::cli
