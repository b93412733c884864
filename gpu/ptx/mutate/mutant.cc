#include "gpu/ptx/mutate/mutant.h"

#include <array>
#include <unordered_map>

#include "gpu/ptx/mutate/site.h"
#include "gpu/ptx/text/parser.h"

namespace moe4::ptx {
namespace {

struct Named {
  Mutation kind;
  std::string_view name;
};

constexpr std::array kNames = {
    Named{Mutation::kBarrier, "barrier"},
    Named{Mutation::kFence, "fence"},
    Named{Mutation::kArrive, "arrive"},
    Named{Mutation::kWait, "wait"},
    Named{Mutation::kExpectTx, "expect_tx"},
    Named{Mutation::kCommit, "commit"},
    Named{Mutation::kParity, "parity"},
    Named{Mutation::kCount, "count"},
    Named{Mutation::kOrder, "order"},
    Named{Mutation::kOffset, "offset"},
    Named{Mutation::kImmediate, "immediate"},
    Named{Mutation::kPredicate, "predicate"},
    Named{Mutation::kSwap, "swap"},
    Named{Mutation::kRounding, "rounding"},
    Named{Mutation::kArithmetic, "arithmetic"},
    Named{Mutation::kCompare, "compare"},
    Named{Mutation::kShift, "shift"},
};

constexpr std::array kMutators = {
    &mutate_synchronisation, &mutate_counts,     &mutate_order,   &mutate_addresses,
    &mutate_immediates,      &mutate_predicates, &mutate_sources, &mutate_opcode,
};

// Inline assembly puts several statements on a line; the second of a name gets a number.
void make_unique(std::vector<Mutant>& mutants) {
  std::unordered_map<std::string, int> seen;
  for (Mutant& mutant : mutants) {
    const int count = ++seen[mutant.name];
    if (count > 1) mutant.name += "#" + std::to_string(count);
  }
}

}  // namespace

std::string_view name_of(Mutation kind) {
  for (const Named& named : kNames) {
    if (named.kind == kind) return named.name;
  }
  return "";
}

std::optional<Mutation> mutation_named(std::string_view name) {
  for (const Named& named : kNames) {
    if (named.name == name) return named.kind;
  }
  return std::nullopt;
}

std::vector<Mutation> all_mutations() {
  std::vector<Mutation> kinds;
  for (const Named& named : kNames) kinds.push_back(named.kind);
  return kinds;
}

std::optional<std::vector<Mutant>> mutants_of(std::string_view ptx, std::string_view entry, Error* error) {
  ModuleSyntax module;
  if (!parse_module(ptx, &module, error)) return std::nullopt;
  std::vector<Mutant> mutants;
  bool found = entry.empty();
  for (const FunctionSyntax& function : module.functions) {
    if (function.entry && !entry.empty() && function.name != entry) continue;
    found = found || function.entry;
    for (const Statement& statement : function.statements) {
      const std::optional<Site> site = site_of(ptx, function, statement);
      if (!site) continue;
      Mutants sink(*site, &mutants);
      for (Mutator* mutator : kMutators) mutator(*site, sink);
    }
  }
  if (!found) {
    if (error) *error = {0, "", "no entry " + std::string(entry)};
    return std::nullopt;
  }
  make_unique(mutants);
  return mutants;
}

std::string mutated(std::string_view ptx, const Mutant& mutant) {
  std::string text(ptx.substr(0, mutant.begin));
  text += mutant.replacement;
  text += ptx.substr(mutant.end);
  return text;
}

std::string diff(const Mutant& mutant) {
  return std::to_string(mutant.line) + ": - " + mutant.before +
         (mutant.after.empty() ? "" : " + " + mutant.after);
}

}  // namespace moe4::ptx
