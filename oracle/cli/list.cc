#include <fmt/core.h>
#include <fmt/ranges.h>

#include <memory>

#include "oracle/case/counted.h"
#include "oracle/case/nearest.h"
#include "oracle/cli/command.h"
#include "oracle/cli/meanings.h"
#include "oracle/cli/subjects.h"
#include "oracle/cli/tier.h"
#include "oracle/gate/pairwise.h"
#include "oracle/gate/tiers.h"

namespace moe4::oracle::cli {
namespace {

struct Options {
  std::string what;
  std::string tier = "smoke";
  bool json = false;
};

template <class Value>
std::string words(const std::vector<Value>& values) {
  std::string text;
  for (const Value value : values) text += (text.empty() ? "" : ",") + std::string(name_of(value));
  return text;
}

ExitCode list_subjects(bool json) {
  Result<std::vector<std::unique_ptr<Subject>>> subjects = open_subjects(subject_names());
  if (!subjects.ok()) return refuse(subjects.error());
  for (const auto& subject : *subjects) {
    const Declaration& d = subject->declaration();
    if (json) {
      fmt::print("{}", to_json(d));
      continue;
    }
    fmt::print("{:<28}  op={} weights={} dtypes={} profile={} order={}\n", d.name, words(d.ops),
               words(d.weights), words(d.dtypes), d.profile, to_string(d.arithmetic.order));
  }
  return ExitCode::kPassed;
}

// The covers of all subjects: counts, why pairs are none, and the cases.
ExitCode list_pairs() {
  Result<std::vector<std::unique_ptr<Subject>>> subjects = open_subjects(subject_names());
  if (!subjects.ok()) return refuse(subjects.error());
  std::vector<const Declaration*> declarations;
  for (const auto& subject : *subjects) declarations.push_back(&subject->declaration());
  for (const PairwiseCover& cover : pairwise_covers(declarations)) {
    std::int64_t excluded = 0;
    for (const auto& [reason, pairs] : cover.excluded) excluded += pairs;
    fmt::print("{}: {}, {} pairs in {}, {} pairs excluded\n", cover.family,
               counted(cover.subjects, "subject"), cover.possible,
               counted(static_cast<std::int64_t>(cover.cases.size()), "case"), excluded);
    for (const auto& [reason, pairs] : cover.excluded) fmt::print("  excluded {}: {}\n", pairs, reason);
    for (const CoverCase& one : cover.cases) fmt::print("  {}: {}\n", one.subject, to_string(one.line));
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

template <class Value>
void print_all(const std::vector<Value>& values) {
  for (const Value value : values) fmt::print("{:<18}  {}\n", name_of(value), meaning_of(value));
}

void print_settings(const char* key) {
  for (const std::string& value : arithmetic_values(key)) {
    fmt::print("{:<18}  {}\n", value, meaning_of(key, value));
  }
}

void list_orders() {
  fmt::print(
      "any                 nothing is declared: the bound of any tree, the widest\n"
      "seq                 one chain, i = 0, 1, ...\n"
      "groups(B)           a chain a block of B, the block sums added in order\n"
      "lanes(L,V)+shfl     lane l has the i with i/V mod L = l; joined by a halving tree\n"
      "lanes(L,V)+seq      the same lanes, added in their order\n"
      "warps(S,W)+tree     warp j has the i with i/S mod W = j; joined by a halving tree\n"
      "split(n)            n slices of whole groups, their sums added in order\n"
      "streamk(n)          the same slices, each partial sum rounded to BF16 and added\n"
      "slices*inner        in each slice the chains of inner (docs/spec/bounds.md, BND-2 and BND-3)\n");
}

void list_layouts() {
  for (const WeightLayout* layout : weight_layouts()) {
    fmt::print("{:<18}  weights={:<5}  {}\n", layout->name, layout->weights, layout->description);
  }
}

struct Kind {
  const char* name;
  void (*print)();
};

constexpr Kind kWords[] = {
    {"ops", [] { print_all(all_ops()); }},
    {"weights",
     [] {
       print_all<WeightFormat>({WeightFormat::kMxfp4, WeightFormat::kInt4});
     }},
    {"layouts", list_layouts},
    {"fills", [] { print_all(all_fills()); }},
    {"routings", [] { print_all(all_routings()); }},
    {"policies", list_policies},
    {"profiles", [] { print_settings("profile"); }},
    {"orders", list_orders},
    {"accumulations", [] { print_settings("accumulation"); }},
    {"dequants", [] { print_settings("dequant"); }},
};

std::vector<std::string> kinds() {
  std::vector<std::string> names = {"subjects", "cases", "pairs"};
  for (const Kind& kind : kWords) names.emplace_back(kind.name);
  return names;
}

ExitCode list(const Options& options) {
  if (options.what == "subjects") return list_subjects(options.json);
  if (options.what == "cases") return list_cases(options.tier);
  if (options.what == "pairs") return list_pairs();
  for (const Kind& kind : kWords) {
    if (options.what != kind.name) continue;
    kind.print();
    return ExitCode::kPassed;
  }
  return refuse(fmt::format("cannot list '{}'; the nearest known one is '{}' ({})", options.what,
                            nearest_name(options.what, kinds()), fmt::join(kinds(), ", ")));
}

}  // namespace

void add_list(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("list", "List what this build knows");
  auto options = std::make_shared<Options>();
  command->add_option("WHAT", options->what, fmt::format("{}", fmt::join(kinds(), ", ")))->required();
  command->add_option("--tier", options->tier, "list cases: of this tier (smoke, ci, nightly)");
  command->add_flag("--json", options->json, "list subjects: whole declarations, one JSON object each");
  command->footer(
      "Examples:\n"
      "  moe4 list subjects            names for --subject\n"
      "  moe4 list cases --tier ci     case lines, ready for `moe4 run @FILE`\n"
      "  moe4 list pairs               the pairwise covers that the ci tier adds\n"
      "  moe4 list policies            names for --policy and for case lines");
  command->callback([options, &code] { code = list(*options); });
}

}  // namespace moe4::oracle::cli
