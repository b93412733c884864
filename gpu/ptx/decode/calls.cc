// Device functions are expanded where they are called, with registers of their own and their parameters bound
// to the caller's .param variables.
#include <utility>

#include "gpu/ptx/decode/decoder.h"
#include "gpu/ptx/run/handlers.h"

namespace moe4::ptx {
namespace {

constexpr int kMaxCallDepth = 32;

}  // namespace

void Decoder::call(const Statement& statement) {
  // call{.uni} (results), name, (arguments);  results and arguments may be missing.
  const Operand* name = nullptr;
  const Operand* results = nullptr;
  const Operand* arguments = nullptr;
  for (const Operand& operand : statement.operands) {
    if (operand.kind == OperandKind::kVector) {
      (name == nullptr ? results : arguments) = &operand;
    } else if (name == nullptr) {
      name = &operand;
    } else {
      return unsupported("indirect call");
    }
  }
  if (name == nullptr || name->kind != OperandKind::kName) return unsupported("indirect call");
  if (name->text == "__assertfail") {
    std::uint32_t list = 0;
    const bool known = frame_offsets(nullptr, arguments, 5, &list);
    emit(known ? &run_assert : &run_trap, {});
    function_.code.back().aux = list;
    roles().flow = Roles::Flow::kStop;
    return;
  }
  if (name->text == "vprintf") {
    std::uint32_t list = 0;
    if (!frame_offsets(results, arguments, 2, &list)) return unsupported("malformed call of vprintf");
    emit(&run_print, {}, {}, {}, {}, results != nullptr ? 1 : 0);
    function_.code.back().aux = list;
    return;
  }
  if (const auto callee = layout_.functions.find(name->text); callee != layout_.functions.end()) {
    if (depth_ >= kMaxCallDepth) return unsupported("calls nested more than 32 deep, or a recursion");
    return expand(module_.functions[callee->second], results, arguments);
  }
  unsupported("call of " + std::string(name->text) + ", which this module does not define");
}

bool Decoder::frame_offsets(const Operand* results, const Operand* arguments, std::size_t count,
                            std::uint32_t* list) {
  if (arguments == nullptr || arguments->items.size() != count) return false;
  *list = static_cast<std::uint32_t>(function_.lists.size());
  for (const Operand* operands : {arguments, results}) {
    if (operands == nullptr) continue;
    for (const Operand& item : operands->items) {
      Space space = Space::kGlobal;
      if (item.kind != OperandKind::kVariable) return false;
      function_.lists.push_back(static_cast<std::uint32_t>(address_of(item, &space)));
      if (space != Space::kFrame) return false;
    }
  }
  return true;
}

void Decoder::expand(const FunctionSyntax& callee, const Operand* results, const Operand* arguments) {
  if (statement_->guard != kNoIndex) return unsupported("call under a guard");
  // What a body declares is laid out anew at each call.
  const std::uint64_t cost = (callee.registers.size() + callee.variables.size() + callee.labels.size()) / 16;
  if (cost >= statements_left_) return unsupported("function too large once its calls are expanded");
  statements_left_ -= cost;
  Expansion inner;
  inner.function = &callee;
  lay_out(&inner);
  const auto bind = [&](const Operand* actual, const std::vector<std::uint32_t>& formal) {
    const std::size_t count = actual == nullptr ? 0 : actual->items.size();
    if (count != formal.size()) return false;
    for (std::size_t i = 0; i < count; ++i) {
      const Operand& item = actual->items[i];
      Space space = Space::kGlobal;
      if (item.kind != OperandKind::kVariable) return false;
      inner.variable_offsets[formal[i]] = address_of(item, &space);
      if (space != Space::kFrame) return false;
    }
    return true;
  };
  if (!bind(results, callee.results) || !bind(arguments, callee.parameters)) {
    return unsupported("call whose arguments are no .param variables of the caller");
  }
  const Statement* call_statement = statement_;
  const std::uint32_t call_source = source_;
  Expansion* outer = std::exchange(expansion_, &inner);
  ++depth_;
  decode_body();
  --depth_;
  expansion_ = outer;
  statement_ = call_statement;
  source_ = call_source;
  failed_ = !function_.info.unsupported.empty();
}

}  // namespace moe4::ptx
