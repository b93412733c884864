// The opcode changed: rounding, operation, comparison.
#include <array>
#include <utility>

#include "gpu/ptx/mutate/site.h"

namespace moe4::ptx {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

template <std::size_t N>
std::string_view other_of(const std::array<Pair, N>& pairs, std::string_view word) {
  for (const auto& [from, to] : pairs) {
    if (from == word) return to;
  }
  return {};
}

constexpr std::array<Pair, 8> kRoundings = {{{"rn", "rz"},
                                             {"rz", "rn"},
                                             {"rm", "rp"},
                                             {"rp", "rm"},
                                             {"rni", "rzi"},
                                             {"rzi", "rni"},
                                             {"rmi", "rpi"},
                                             {"rpi", "rmi"}}};

void change_rounding(const Site& site, Mutants& mutants) {
  const std::string_view base = site.statement.base;
  const bool arithmetic = base == "add" || base == "sub" || base == "mul" || base == "fma" || base == "mad";
  if (!arithmetic && base != "cvt" && base != "div" && base != "rcp" && base != "sqrt") return;
  const Type type = site.last_type();
  const bool several_roundings = base == "cvt" || type == Type::kF32 || type == Type::kF64;
  if (!several_roundings) return;
  for (std::size_t n = 0; n < site.statement.modifiers.size(); ++n) {
    const std::string_view other = other_of(kRoundings, site.statement.modifiers[n]);
    if (other.empty()) continue;
    mutants.modifier(Mutation::kRounding, n, other, std::string(other));
    return;
  }
  if (!arithmetic) return;
  const std::string rest(site.opcode.substr(base.size()));
  mutants.replace(Mutation::kRounding, site.opcode, std::string(base) + ".rz" + rest, "rz");
}

constexpr std::array<Pair, 9> kOperations = {{{"add", "sub"},
                                              {"sub", "add"},
                                              {"min", "max"},
                                              {"max", "min"},
                                              {"and", "or"},
                                              {"or", "and"},
                                              {"xor", "or"},
                                              {"fma", "mul"},
                                              {"mad", "mul"}}};

// The one statement that sets a register; nullptr where there are several, or none.
const Statement* only_definition(const FunctionSyntax& function, std::uint32_t reg) {
  const Statement* found = nullptr;
  for (const Statement& statement : function.statements) {
    if (statement.operands.empty()) continue;
    const Operand& to = statement.operands.front();
    if (to.kind != OperandKind::kRegister || to.index != reg) continue;
    if (found != nullptr) return nullptr;
    found = &statement;
  }
  return found;
}

// a·b + -0 has the bits of a·b, always: compilers write a product that may not be contracted so.
bool addend_is_minus_zero(const Site& site) {
  const Operand& addend = site.statement.operands[3];
  if (addend.kind != OperandKind::kRegister) return false;
  const Statement* mov = only_definition(site.function, addend.index);
  if (mov == nullptr || mov->base != "mov" || mov->guard != kNoIndex || mov->operands.size() != 2)
    return false;
  const Operand& from = mov->operands[1];
  switch (site.last_type()) {
    case Type::kF16x2:
    case Type::kBF16x2:
      return from.kind == OperandKind::kInteger && static_cast<std::uint32_t>(from.value) == 0x80008000u;
    case Type::kF32:
      return from.kind == OperandKind::kSingle && from.bits == 0x80000000u;
    default:
      return false;
  }
}

void change_operation(const Site& site, Mutants& mutants) {
  const std::string_view base = site.statement.base;
  const std::string_view other = other_of(kOperations, base);
  if (other.empty() || site.has("cc") || site.has("relu")) return;
  const std::string opcode = std::string(other) + std::string(site.opcode.substr(base.size()));
  if (other != "mul") return mutants.replace(Mutation::kArithmetic, site.opcode, opcode, std::string(other));
  if (site.operands.size() != 4 || addend_is_minus_zero(site)) return;
  mutants.instead(Mutation::kArithmetic,
                  opcode + " " + std::string(site.operands[0]) + ", " + std::string(site.operands[1]) + ", " +
                      std::string(site.operands[2]),
                  "addend lost");
}

constexpr std::array<Pair, 16> kComparisons = {{{"lt", "le"},
                                                {"le", "lt"},
                                                {"gt", "ge"},
                                                {"ge", "gt"},
                                                {"eq", "ne"},
                                                {"ne", "eq"},
                                                {"lo", "ls"},
                                                {"ls", "lo"},
                                                {"hi", "hs"},
                                                {"hs", "hi"},
                                                {"ltu", "leu"},
                                                {"leu", "ltu"},
                                                {"gtu", "geu"},
                                                {"geu", "gtu"},
                                                {"equ", "neu"},
                                                {"neu", "equ"}}};

void change_comparison(const Site& site, Mutants& mutants) {
  if (site.statement.base != "setp" && site.statement.base != "set") return;
  const std::string_view other = other_of(kComparisons, site.modifier(0));
  if (!other.empty()) mutants.modifier(Mutation::kCompare, 0, other, std::string(other));
}

}  // namespace

void mutate_opcode(const Site& site, Mutants& mutants) {
  change_rounding(site, mutants);
  change_operation(site, mutants);
  change_comparison(site, mutants);
}

}  // namespace moe4::ptx
