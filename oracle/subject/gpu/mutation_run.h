// Runs the mutants of a PTX subject through cases on the executor.
//
// A mutant is killed by the first case that goes red. A run that gives the same output as the unmutated
// subject, and no finding, has the same verdict, so only the others are judged. A mutant that runs much
// longer than the subject did is stopped and counts as killed ("budget"); so does a deadlock.
#pragma once

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "gpu/ptx/mutate/mutant.h"
#include "oracle/case/case.h"
#include "oracle/mutation/ledger.h"
#include "oracle/mutation/outcome.h"
#include "oracle/subject/gpu/ptx_program.h"

namespace moe4::oracle {

struct MutationOptions {
  std::set<ptx::Mutation> kinds;  // empty: all
  std::set<std::string> names;    // empty: all; a name that the text does not make is an Error
  std::int64_t limit = 0;         // so many mutants, drawn by `seed`; 0: all
  std::uint64_t seed = 1;
  std::chrono::duration<double> time{0};  // no mutant starts after this; 0: no limit
  int jobs = 0;                           // threads; 0: all cores
  Ledger ledger;
  // Called before each mutant, from one thread at a time.
  std::function<void(std::int64_t done, std::int64_t total, const std::string& mutant)> progress;
};

// An Error: no case runs, the unmutated subject does not pass one of them, or a mutant that is asked for is
// none.
Result<MutationReport> run_mutants(const PtxProgram& program, const std::vector<Case>& cases,
                                   const MutationOptions& options);

}  // namespace moe4::oracle
