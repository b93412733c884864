// Guards dropped and inverted, predicate operands inverted.
#include "gpu/ptx/mutate/site.h"

namespace moe4::ptx {

void mutate_predicates(const Site& site, Mutants& mutants) {
  if (!site.guard.empty()) {
    mutants.replace(Mutation::kPredicate, site.guard, "", "no guard");
    const std::string name(site.function.registers[site.statement.guard].name);
    mutants.replace(Mutation::kPredicate, site.guard,
                    (site.statement.guard_negated ? "@" : "@!") + name + " ", "guard inverted");
  }
  const std::string_view base = site.statement.base;
  if (base == "not" && site.modifier(0) == "pred") {
    mutants.replace(Mutation::kPredicate, site.opcode, "mov.pred", "not lost");
    return;
  }
  if (base != "setp" && base != "set" && base != "wgmma" && base != "vote" && !site.has("red")) return;
  for (std::size_t n = 1; n < site.operands.size(); ++n) {
    const Operand& operand = site.statement.operands[n];
    if (operand.kind != OperandKind::kRegister ||
        site.function.registers[operand.index].type != Type::kPred) {
      continue;
    }
    const std::string_view text = site.operands[n];
    mutants.operand(
        Mutation::kPredicate, n,
        operand.negated ? std::string(text.substr(text.find_first_not_of("! \t"))) : "!" + std::string(text),
        " inverted");
  }
}

}  // namespace moe4::ptx
