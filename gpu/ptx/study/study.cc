#include "gpu/ptx/study/study.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "gpu/ptx/text/parser.h"

namespace moe4::ptx {
namespace {

bool names_a_rounding(const Statement& statement) {
  constexpr std::string_view kRoundings[] = {"rn", "rz", "rm", "rp"};
  return std::any_of(statement.modifiers.begin(), statement.modifiers.end(), [&](std::string_view modifier) {
    return std::find(std::begin(kRoundings), std::end(kRoundings), modifier) != std::end(kRoundings);
  });
}

// The floating-point type of an add, sub or mul; kNone for integers.
Type float_type(const Statement& statement) {
  if (statement.modifiers.empty()) return Type::kNone;
  const auto type = type_named(statement.modifiers.back());
  return type && is_float(*type) ? *type : Type::kNone;
}

std::vector<FreeRounding> free_roundings(const FunctionSyntax& function) {
  std::unordered_multimap<std::uint32_t, const Statement*> products;  // by the register they write
  for (const Statement& statement : function.statements) {
    if (statement.base != "mul" || float_type(statement) == Type::kNone || names_a_rounding(statement))
      continue;
    if (statement.operands.empty() || statement.operands[0].kind != OperandKind::kRegister) continue;
    products.emplace(statement.operands[0].index, &statement);
  }
  std::vector<FreeRounding> found;
  for (const Statement& statement : function.statements) {
    if ((statement.base != "add" && statement.base != "sub") || names_a_rounding(statement)) continue;
    for (std::size_t n = 1; n < statement.operands.size(); ++n) {
      const Operand& operand = statement.operands[n];
      if (operand.kind != OperandKind::kRegister) continue;
      const auto [first, last] = products.equal_range(operand.index);
      for (auto product = first; product != last; ++product) {
        if (float_type(*product->second) != float_type(statement)) continue;
        found.push_back({product->second->line, statement.line, std::string(product->second->text),
                         std::string(statement.text)});
      }
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const FreeRounding& a, const FreeRounding& b) {
    return a.line != b.line ? a.line < b.line : a.sum_line < b.sum_line;
  });
  return found;
}

std::string opcode_of(const Statement& statement) {
  std::string opcode(statement.base);
  for (const std::string_view modifier : statement.modifiers) opcode += "." + std::string(modifier);
  return opcode;
}

std::vector<OpcodeCount> histogram(const FunctionSyntax& function) {
  std::map<std::string, std::int64_t> counts;
  for (const Statement& statement : function.statements) ++counts[opcode_of(statement)];
  std::vector<OpcodeCount> list;
  for (const auto& [opcode, count] : counts) list.push_back({opcode, count});
  std::stable_sort(list.begin(), list.end(),
                   [](const OpcodeCount& a, const OpcodeCount& b) { return a.count > b.count; });
  return list;
}

}  // namespace

std::optional<Study> study(std::string_view ptx, std::string_view entry, Error* error) {
  ModuleSyntax module;
  if (!parse_module(ptx, &module, error)) return std::nullopt;
  for (const FunctionSyntax& function : module.functions) {
    if (!function.entry || function.name != entry) continue;
    return Study{histogram(function), free_roundings(function)};
  }
  if (error) *error = {0, "", "no entry " + std::string(entry)};
  return std::nullopt;
}

}  // namespace moe4::ptx
