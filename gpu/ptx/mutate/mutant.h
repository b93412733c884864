// Mutants of a PTX module: text in, text out, each with one small fault. They tell what a green verdict of a
// kernel means: the faults that its cases and checks would have noticed.
//
// Mutation is syntactic. Any instruction that the text parser reads can be mutated, also one that the
// executor cannot run; nothing is known of kernels, cases or data.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/ptx/ptx.h"

namespace moe4::ptx {

enum class Mutation {
  kBarrier,     // a barrier dropped: bar, barrier, bar.warp.sync, barrier.cluster
  kFence,       // fence, membar, wgmma.fence dropped
  kArrive,      // an arrival at an mbarrier dropped
  kWait,        // a wait passes at once: mbarrier waits, wait_group, wait_all
  kExpectTx,    // an expect_tx or complete_tx dropped
  kCommit,      // a commit_group dropped
  kParity,      // the other parity is waited for
  kCount,       // a transaction, arrival, group or thread count changed
  kOrder,       // acquire, release or volatile made relaxed, scope .gpu narrowed to .cta
  kOffset,      // an address or a tensor coordinate moved by one element
  kImmediate,   // a constant operand moved by its own granularity, a floating-point one doubled
  kPredicate,   // a guard dropped or inverted, a predicate operand inverted
  kSwap,        // two source registers, or two elements of a vector, exchanged
  kRounding,    // the rounding of a conversion or of floating-point arithmetic changed
  kArithmetic,  // add for sub, min for max, and for or, the addend of a fused operation lost
  kCompare,     // lt for le, gt for ge, eq for ne, and back
  kShift,       // a shift amount off by one
};
std::string_view name_of(Mutation kind);  // "barrier", "expect_tx", ...
std::optional<Mutation> mutation_named(std::string_view name);
std::vector<Mutation> all_mutations();

struct Mutant {
  std::string name;  // "offset:214:op1+8": kind, line and what; unique in the module's text
  Mutation kind = Mutation::kBarrier;
  int line = 0;
  std::string before, after;       // the statement, blanks collapsed; `after` is empty when it is dropped
  std::size_t begin = 0, end = 0;  // bytes of the text that `replacement` replaces
  std::string replacement;
};

// Every mutant of the entry (all entries when empty) and of the module's device functions, in the order of
// the text. The same text gives the same list. nullopt: the text does not parse, or has no such entry.
std::optional<std::vector<Mutant>> mutants_of(std::string_view ptx, std::string_view entry, Error* error);

std::string mutated(std::string_view ptx, const Mutant& mutant);

// One line: "214: - bar.sync 0;", "214: - sub.s32 %r1, %r2, %r3; + add.s32 %r1, %r2, %r3;"
std::string diff(const Mutant& mutant);

}  // namespace moe4::ptx
