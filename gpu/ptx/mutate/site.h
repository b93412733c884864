// One statement as the mutations see it: its syntax, and where its pieces stand in the text.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/ptx/mutate/mutant.h"
#include "gpu/ptx/text/syntax.h"

namespace moe4::ptx {

struct Site {
  const FunctionSyntax& function;
  const Statement& statement;
  std::string_view text;                   // of the whole module
  std::string_view guard;                  // "@%p1 " up to the opcode; empty without one
  std::string_view opcode;                 // "ld.global.v4.u32"
  std::vector<std::string_view> operands;  // one for each of statement.operands
  std::string_view whole;                  // from the guard to the semicolon, both included

  bool has(std::string_view modifier) const;
  std::string_view modifier(std::size_t n) const;  // empty beyond the last
  Type last_type() const;                          // the last modifier that is a type; kNone without one
};

// Pieces of `list` between commas that stand outside of all brackets, blanks trimmed.
std::vector<std::string_view> split_list(std::string_view list);

// nullopt: the pieces do not match the syntax (the statement is left alone).
std::optional<Site> site_of(std::string_view text, const FunctionSyntax& function,
                            const Statement& statement);

// Where mutations put what they make.
class Mutants {
 public:
  Mutants(const Site& site, std::vector<Mutant>* list) : site_(site), list_(*list) {}

  // `piece` is a view into the module's text.
  void replace(Mutation kind, std::string_view piece, std::string replacement, std::string what);
  // Operand n becomes `value`.
  void operand(Mutation kind, std::size_t n, std::string value, std::string what);
  // The opcode without its modifier number n, or with another word in its place.
  void modifier(Mutation kind, std::size_t n, std::string_view word, std::string what);
  // Whole statement, guard and semicolon included.
  void drop(Mutation kind);
  // The instruction behind the guard.
  void instead(Mutation kind, const std::string& instruction, std::string what);
  // The b32 register that `piece` names is replaced by `operation` ("xor.b32", "add.u32") of it and `by`.
  void computed(Mutation kind, std::string_view piece, std::string_view operation, std::int64_t by,
                std::string what);

 private:
  const Site& site_;
  std::vector<Mutant>& list_;
};

// One family of mutations each.
using Mutator = void(const Site&, Mutants&);
Mutator mutate_synchronisation;  // barrier, fence, arrive, wait, expect_tx, commit, parity
Mutator mutate_counts;
Mutator mutate_order;
Mutator mutate_addresses;
Mutator mutate_immediates;  // immediate, shift
Mutator mutate_predicates;
Mutator mutate_sources;  // swap
Mutator mutate_opcode;   // rounding, arithmetic, compare

}  // namespace moe4::ptx
