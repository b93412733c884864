// Where the variables of an entry, and of the functions it calls, lie in shared and local memory.
#include <algorithm>

#include "gpu/ptx/decode/decoder.h"

namespace moe4::ptx {
namespace {

constexpr std::uint64_t kMaxLocalBytes = 512u << 10;

std::uint64_t align_up(std::uint64_t value, std::uint64_t align) {
  return (value + align - 1) / align * align;
}

// Module variables that the entry and what it calls name, and those device functions.
void collect(const ModuleSyntax& module, const ModuleLayout& layout, const FunctionSyntax& entry,
             std::vector<bool>* functions, std::vector<bool>* variables) {
  const auto visit = [&](const auto& self, const Operand& operand) -> void {
    if (operand.kind == OperandKind::kVariable && operand.index >= kModuleVariables) {
      (*variables)[operand.index - kModuleVariables] = true;
    }
    for (const Operand& item : operand.items) self(self, item);
  };
  std::vector<const FunctionSyntax*> open{&entry};
  while (!open.empty()) {
    const FunctionSyntax& function = *open.back();
    open.pop_back();
    for (const Statement& statement : function.statements) {
      for (const Operand& operand : statement.operands) {
        visit(visit, operand);
        if (statement.base != "call" || operand.kind != OperandKind::kName) continue;
        const auto callee = layout.functions.find(operand.text);
        if (callee == layout.functions.end() || (*functions)[callee->second]) continue;
        (*functions)[callee->second] = true;
        open.push_back(&module.functions[callee->second]);
      }
    }
  }
}

}  // namespace

void Decoder::lay_out_shared() {
  std::vector<bool> functions(module_.functions.size()), variables(module_.variables.size());
  collect(module_, layout_, entry_, &functions, &variables);
  std::uint64_t at = kSharedBase;
  const auto place = [&](const Variable& variable) {
    if (variable.space != Space::kShared || variable.dynamic) return;
    at = align_up(at, variable.align);
    shared_offsets_[&variable] = at;
    function_.shared.push_back({std::string(variable.name), at, variable.bytes});
    at += variable.bytes;
  };
  for (std::size_t i = 0; i < module_.variables.size(); ++i) {
    if (!variables[i]) continue;
    place(module_.variables[i]);
    if (module_.variables[i].dynamic) function_.uses_dynamic_shared = true;
  }
  for (const Variable& variable : entry_.variables) place(variable);
  for (std::size_t i = 0; i < module_.functions.size(); ++i) {
    if (!functions[i]) continue;
    for (const Variable& variable : module_.functions[i].variables) place(variable);
  }
  if (at - kSharedBase > (1u << 20)) {
    unsupported("static shared memory larger than 1 MiB");
    at = kSharedBase;
  }
  function_.static_shared_bytes = static_cast<std::uint32_t>(at - kSharedBase);
  function_.info.static_shared_bytes = function_.static_shared_bytes;
}

std::uint32_t Decoder::allocate_local(std::uint64_t bytes, std::uint32_t align) {
  const std::uint64_t at = align_up(function_.local_bytes, std::max<std::uint32_t>(align, 1));
  if (bytes > kMaxLocalBytes || at + bytes > kMaxLocalBytes) {
    unsupported("local memory of a thread larger than 512 KiB");
    return 0;
  }
  function_.local_bytes = static_cast<std::uint32_t>(at + bytes);
  return static_cast<std::uint32_t>(at);
}

void Decoder::lay_out(Expansion* expansion) {
  const FunctionSyntax& function = *expansion->function;
  expansion->registers.assign(function.registers.size(), kNoIndex);
  expansion->variable_offsets.assign(function.variables.size(), 0);
  expansion->label_code.assign(function.labels.size(), kNoIndex);
  for (std::size_t i = 0; i < function.variables.size(); ++i) {
    const Variable& variable = function.variables[i];
    if (variable.space == Space::kLocal || variable.space == Space::kFrame) {
      expansion->variable_offsets[i] = allocate_local(variable.bytes, variable.align);
    } else if (variable.space == Space::kShared) {
      expansion->variable_offsets[i] = shared_offsets_[&variable];
    }
  }
}

}  // namespace moe4::ptx
