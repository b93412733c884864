// The ledger of equivalent mutants: changes that no input can show, each with the reason.
//
//   {"schema": 1, "subjects": {"mxfp4_linear_tile_bf16": [
//     {"reason": "why the result is the same", "mutants": {"swap:214:op1,op2": "sub.s32 %r1, %r2, %r3;"}}]}}
//
// An entry names a mutant and the statement that it changes. It is an error when there is no such mutant,
// when the statement is another, or when a case kills it: a wrong excuse must not hide a hole.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/mutation/outcome.h"
#include "reference/status.h"

namespace moe4::oracle {

struct LedgerEntry {
  std::string mutant, text, reason;
};

using Ledger = std::map<std::string, std::vector<LedgerEntry>>;  // by subject

// Strict: an unknown, missing, repeated or ill-typed field is an Error that names it.
Result<Ledger> parse_ledger(std::string_view json);

// The project's own, fixtures/lists/equivalent_mutants.json, built in.
std::string_view builtin_ledger();

// Marks the listed mutants, and reports the entries that are wrong. `all` are the names and statements of
// every mutant that the text has, also of those that were not run.
void apply_ledger(const Ledger& ledger, const std::map<std::string, std::string>& all,
                  MutationReport& report);

}  // namespace moe4::oracle
