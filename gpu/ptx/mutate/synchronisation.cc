// Barriers, fences, arrivals, waits, expect_tx and commits dropped; parities flipped.
#include "gpu/ptx/mutate/site.h"

namespace moe4::ptx {
namespace {

void drop_block_barrier(const Site& site, Mutants& mutants) {
  if (!site.has("red")) return mutants.drop(Mutation::kBarrier);
  // Each thread goes on with its own predicate.
  const std::string result(site.operands.front());
  const std::string_view own = site.operands.back();
  const bool negated = own.starts_with('!');
  const std::string name(negated ? own.substr(1) : own);
  if (site.has("popc")) {
    const std::string values = negated ? ", 0, 1, " : ", 1, 0, ";
    mutants.instead(Mutation::kBarrier, "selp.u32 " + result + values + name, "alone");
  } else {
    mutants.instead(Mutation::kBarrier, (negated ? "not.pred " : "mov.pred ") + result + ", " + name,
                    "alone");
  }
}

void pass_wait(const Site& site, Mutants& mutants) {
  mutants.instead(Mutation::kWait, "setp.eq.u32 " + std::string(site.operands.front()) + ", 0, 0", "pass");
}

void drop_arrival(const Site& site, Mutants& mutants) {
  const bool state = site.statement.operands.front().kind == OperandKind::kRegister;
  if (state) {
    mutants.instead(Mutation::kArrive, "mov.b64 " + std::string(site.operands.front()) + ", 0", "drop");
  } else {
    mutants.drop(Mutation::kArrive);
  }
  if (!site.has("expect_tx")) return;
  std::string arrival(site.statement.base);
  for (const std::string_view modifier : site.statement.modifiers) {
    if (modifier != "expect_tx") arrival += "." + std::string(modifier);
  }
  for (std::size_t n = 0; n + 1 < site.operands.size(); ++n) {
    arrival += (n == 0 ? " " : ", ") + std::string(site.operands[n]);
  }
  mutants.instead(Mutation::kExpectTx, arrival, "drop expect_tx");
}

void flip_parity(const Site& site, Mutants& mutants) {
  if (!site.has("parity") || site.operands.size() < 3) return;
  const Operand& parity = site.statement.operands[2];
  if (parity.kind == OperandKind::kInteger) {
    mutants.operand(Mutation::kParity, 2, std::to_string(parity.value ^ 1), "^1");
  } else if (parity.kind == OperandKind::kRegister) {
    mutants.computed(Mutation::kParity, site.operands[2], "xor.b32", 1, "op2^1");
  }
}

void mutate_mbarrier(const Site& site, Mutants& mutants) {
  if (site.operands.empty()) return;
  const std::string_view what = site.modifier(0);
  if (what == "arrive" || what == "arrive_drop") return drop_arrival(site, mutants);
  if (what == "expect_tx" || what == "complete_tx") return mutants.drop(Mutation::kExpectTx);
  if (what != "try_wait" && what != "test_wait") return;
  pass_wait(site, mutants);
  flip_parity(site, mutants);
}

}  // namespace

// griddepcontrol.wait is left alone: it waits for another grid, and a launch is one.
void mutate_synchronisation(const Site& site, Mutants& mutants) {
  const std::string_view base = site.statement.base;
  if (base == "bar" || base == "barrier") return drop_block_barrier(site, mutants);
  if (base == "fence" || base == "membar") return mutants.drop(Mutation::kFence);
  if (base == "mbarrier") return mutate_mbarrier(site, mutants);
  if (base == "wgmma" && site.modifier(0) == "fence") return mutants.drop(Mutation::kFence);
  if (base != "wgmma" && base != "cp") return;
  if (site.has("commit_group")) return mutants.drop(Mutation::kCommit);
  if (site.has("wait_group") || site.has("wait_all")) return mutants.drop(Mutation::kWait);
  if (base == "cp" && site.has("mbarrier") && site.has("arrive")) return mutants.drop(Mutation::kArrive);
}

}  // namespace moe4::ptx
