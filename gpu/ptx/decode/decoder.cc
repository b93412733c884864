#include "gpu/ptx/decode/decoder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>

#include "gpu/ptx/run/handlers.h"

namespace moe4::ptx {
namespace {

constexpr std::size_t kMaxUnsupported = 64;
constexpr std::uint64_t kMaxLocalBytes = 512u << 10;
constexpr std::uint64_t kMaxStatements = 1u << 22;
constexpr std::size_t kMaxConstants = std::size_t{1} << 26;
constexpr int kMaxCallDepth = 32;

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

bool Modifiers::take(std::string_view name) {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (!taken_[i] && all_[i] == name) {
      taken_[i] = true;
      return true;
    }
  }
  return false;
}

bool Modifiers::take_any(std::initializer_list<std::string_view> names) {
  return !take_one_of(names).empty();
}

std::string_view Modifiers::take_one_of(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (take(name)) return name;
  }
  return {};
}

Type Modifiers::take_type() {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (taken_[i]) continue;
    if (const auto type = type_named(all_[i])) {
      taken_[i] = true;
      return *type;
    }
  }
  return Type::kNone;
}

std::string_view Modifiers::untaken() const {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (!taken_[i]) return all_[i];
  }
  return {};
}

DecodeFunction find_decoder(std::string_view base) {
  static const std::unordered_map<std::string_view, DecodeFunction> kTable = [] {
    std::unordered_map<std::string_view, DecodeFunction> table;
    for (const auto& family :
         {integer_decoders(), logic_decoders(), arithmetic_decoders(), compare_decoders(), convert_decoders(),
          move_decoders(), memory_decoders(), control_decoders(), warp_decoders()}) {
      for (const DecoderEntry& entry : family) table.emplace(entry.base, entry.decode);
    }
    return table;
  }();
  const auto found = kTable.find(base);
  return found == kTable.end() ? nullptr : found->second;
}

Decoder::Decoder(const ModuleSyntax& module, const ModuleLayout& layout, const FunctionSyntax& entry,
                 Function* function)
    : module_(module),
      layout_(layout),
      entry_(entry),
      function_(*function),
      alu_(host_alu()),
      registers_(2),
      statements_left_(kMaxStatements) {}

void Decoder::unsupported(std::string message) {
  // One complaint a statement: the first.
  if (std::exchange(failed_, true)) return;
  if (function_.info.unsupported.size() >= kMaxUnsupported) return;
  function_.info.unsupported.push_back({statement_ ? statement_->line : 0,
                                        statement_ ? std::string(statement_->text) : std::string(),
                                        std::move(message) + " (target " + module_.target + ")"});
}

void Decoder::approximate() {
  if (function_.info.approximate.size() >= kMaxUnsupported) return;
  function_.info.approximate.push_back({statement_->line, std::string(statement_->text),
                                        "the result is within the ISA's bound, its bits are open"});
}

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

void Decoder::run() {
  for (const Error& error : entry_.unsupported) function_.info.unsupported.push_back(error);
  lay_out_shared();
  Expansion expansion;
  expansion.function = &entry_;
  lay_out(&expansion);
  std::uint64_t at = 0;
  for (const std::uint32_t index : entry_.parameters) {
    const Variable& parameter = entry_.variables[index];
    at = align_up(at, parameter.align);
    expansion.variable_offsets[index] = at;
    function_.info.parameters.push_back({std::string(parameter.name), static_cast<std::uint32_t>(at),
                                         static_cast<std::uint32_t>(parameter.bytes), parameter.align});
    at += parameter.bytes;
  }
  if (at > (1u << 16)) unsupported("parameters larger than 64 KiB");
  function_.info.parameter_bytes = static_cast<std::uint32_t>(at);
  expansion_ = &expansion;
  decode_body();
  statement_ = nullptr;
  failed_ = false;
  // Falling off the end of a body is an exit.
  source_ = 0;
  emit(&run_exit, {});
  roles().flow = Roles::Flow::kStop;
  function_.info.instructions = static_cast<std::uint32_t>(entry_.statements.size());
}

void Decoder::decode_body() {
  Expansion& expansion = *expansion_;
  const FunctionSyntax& function = *expansion.function;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> labels;  // statement, label
  for (std::uint32_t i = 0; i < function.labels.size(); ++i) {
    if (function.labels[i] != kNoIndex) labels.emplace_back(function.labels[i], i);
  }
  std::sort(labels.begin(), labels.end());
  std::size_t next = 0;
  const auto bind_labels = [&](std::uint32_t statement) {
    for (; next < labels.size() && labels[next].first <= statement; ++next) {
      expansion.label_code[labels[next].second] = static_cast<std::uint32_t>(function_.code.size());
    }
  };
  for (std::uint32_t i = 0; i < function.statements.size(); ++i) {
    bind_labels(i);
    if (statements_left_ == 0) return unsupported("function too large once its calls are expanded");
    --statements_left_;
    decode_statement(function.statements[i]);
  }
  bind_labels(kNoIndex);
  const auto end = static_cast<std::uint32_t>(function_.code.size());
  for (const auto& [code, label] : expansion.branches) function_.code[code].imm = expansion.label_code[label];
  for (const std::uint32_t code : expansion.returns) function_.code[code].imm = end;
  for (const Expansion::List& list : expansion.branch_lists) {
    function_.branch_lists[list.table][list.place] = expansion.label_code[list.label];
  }
}

void Decoder::decode_statement(const Statement& statement) {
  statement_ = &statement;
  failed_ = false;
  SourcePlace place;
  place.line = statement.line;
  place.text = statement.text.substr(0, 160);
  place.file = statement.location.file;
  place.source_line = statement.location.line;
  source_ = static_cast<std::uint32_t>(function_.sources.size());
  function_.sources.push_back(std::move(place));
  const DecodeFunction decode = find_decoder(statement.base);
  if (decode == nullptr) return unsupported("unsupported instruction");
  Modifiers modifiers(statement.modifiers);
  decode(*this, statement, modifiers);
  if (!failed_ && !modifiers.untaken().empty()) {
    unsupported("unsupported modifier ." + std::string(modifiers.untaken()));
  }
}

std::uint32_t Decoder::register_of(std::uint32_t index) {
  std::uint32_t& made = expansion_->registers[index];
  if (made == kNoIndex) {
    made = static_cast<std::uint32_t>(registers_.size());
    registers_.push_back({static_cast<std::uint8_t>(bytes_of(expansion_->function->registers[index].type))});
  }
  return made;
}

Instr& Decoder::emit(Handler handler, Ref d, Ref a, Ref b, Ref c, std::uint64_t imm) {
  if (handler == nullptr && !failed_) unsupported("unsupported form of the instruction");
  Instr instr;
  Roles roles;
  instr.run = handler;
  instr.imm = imm;
  instr.source = source_;
  const auto set = [&](std::uint32_t* field, Ref ref, std::uint8_t bit, std::uint8_t* kind) {
    if (!ref.given()) return;
    *field = ref.value;
    *kind |= bit;
    if (ref.predicate) roles.predicates |= bit;
  };
  set(&instr.d, d, Roles::kD, &roles.writes);
  set(&instr.a, a, Roles::kA, &roles.reads);
  set(&instr.b, b, Roles::kB, &roles.reads);
  set(&instr.c, c, Roles::kC, &roles.reads);
  if (statement_ != nullptr && statement_->guard != kNoIndex) {
    instr.guard = register_of(statement_->guard);
    instr.guard_flip = statement_->guard_negated ? kAllLanes : 0;
  }
  function_.code.push_back(instr);
  function_.roles.push_back(roles);
  return function_.code.back();
}

void Decoder::read_e(Ref e) {
  function_.code.back().e = e.value;
  roles().reads |= Roles::kE;
  if (e.predicate) roles().predicates |= Roles::kE;
}

void Decoder::write_e(Ref e) {
  function_.code.back().e = e.value;
  roles().writes |= Roles::kE;
  if (e.predicate) roles().predicates |= Roles::kE;
}

std::uint32_t Decoder::set_list(const std::vector<Ref>& writes, const std::vector<Ref>& reads) {
  const auto begin = static_cast<std::uint32_t>(function_.lists.size());
  for (const Ref ref : writes) function_.lists.push_back(ref.value);
  for (const Ref ref : reads) function_.lists.push_back(ref.value);
  roles().list = begin;
  roles().list_writes = static_cast<std::uint16_t>(writes.size());
  roles().list_reads = static_cast<std::uint16_t>(reads.size());
  return begin;
}

Ref Decoder::temporary(unsigned bytes) {
  registers_.push_back({static_cast<std::uint8_t>(bytes)});
  return {static_cast<std::uint32_t>(registers_.size() - 1), bytes == 0};
}

Ref Decoder::constant(std::uint64_t value, unsigned bytes) {
  if (bytes < 8) value &= (std::uint64_t{1} << (8 * bytes)) - 1;
  const auto [found, made] = constants_.try_emplace({value, bytes}, 0);
  if (made) {
    if (function_.constants.size() > kMaxConstants) unsupported("more than 64 MiB of constants");
    const std::size_t at = failed_ ? 0 : align_up(function_.constants.size(), 64);
    if (failed_) return {kConstant, false};
    found->second = static_cast<std::uint32_t>(at);
    function_.constants.resize(at + std::size_t{kLanes} * bytes);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      // Little-endian; the upper half of a 16-byte constant is zero.
      std::memcpy(function_.constants.data() + at + std::size_t{lane} * bytes, &value, std::min(bytes, 8u));
    }
  }
  return {found->second | kConstant, false};
}

std::uint64_t Decoder::immediate_bits(const Operand& operand, Type type) const {
  if (operand.kind == OperandKind::kInteger) {
    if (type == Type::kF32) return std::bit_cast<std::uint32_t>(static_cast<float>(operand.value));
    if (type == Type::kF64) return std::bit_cast<std::uint64_t>(static_cast<double>(operand.value));
    return static_cast<std::uint64_t>(operand.value);
  }
  const bool single = operand.kind == OperandKind::kSingle;
  const double value = single ? std::bit_cast<float>(static_cast<std::uint32_t>(operand.bits))
                              : std::bit_cast<double>(operand.bits);
  if (bytes_of(type) == 4) {
    return single ? operand.bits : std::bit_cast<std::uint32_t>(static_cast<float>(value));
  }
  if (bytes_of(type) == 8) return single ? std::bit_cast<std::uint64_t>(value) : operand.bits;
  return operand.bits;
}

const Variable& Decoder::variable(std::uint32_t index) const {
  return index >= kModuleVariables ? module_.variables[index - kModuleVariables]
                                   : expansion_->function->variables[index];
}

std::uint64_t Decoder::address_of(const Operand& operand, Space* space) {
  const Variable& named = variable(operand.index);
  *space = named.space;
  std::uint64_t base = 0;
  if (operand.index < kModuleVariables) {
    base = expansion_->variable_offsets[operand.index];
    // Formal parameters of an expanded function are its caller's .param variables.
    if (named.space == Space::kParam && depth_ > 0) *space = Space::kFrame;
  } else if (named.space == Space::kShared) {
    base =
        named.dynamic ? align_up(kSharedBase + function_.static_shared_bytes, 1024) : shared_offsets_[&named];
  } else {
    base = layout_.variable_offsets[operand.index - kModuleVariables];
    if (named.space == Space::kGlobal) base += kGlobalsWindow;
  }
  return base + static_cast<std::uint64_t>(operand.value);
}

Ref Decoder::source(const Operand& operand, Type type) {
  const unsigned bytes = bytes_of(type);
  switch (operand.kind) {
    case OperandKind::kRegister: {
      const Type declared = expansion_->function->registers[operand.index].type;
      if (declared == Type::kPred || bytes_of(declared) != bytes) {
        unsupported("operand " + std::string(operand.text) + " is ." + std::string(name_of(declared)) +
                    " where " + std::to_string(8 * bytes) + " bits are wanted");
        return constant(0, bytes);
      }
      if (operand.negated) unsupported("'!' on an operand that is no predicate");
      return {register_of(operand.index), false};
    }
    case OperandKind::kInteger:
    case OperandKind::kSingle:
    case OperandKind::kDouble:
      return constant(immediate_bits(operand, type), bytes);
    case OperandKind::kVariable: {
      Space space;
      return constant(address_of(operand, &space), bytes);
    }
    case OperandKind::kSpecial: {
      const auto special = special_named(operand.text);
      if (!special || bytes_of_special(*special) != bytes) {
        unsupported("special register " + std::string(operand.text));
        return constant(0, bytes);
      }
      const Ref read = temporary(bytes);
      Instr& instr = emit(&run_special, read, {}, {}, {}, static_cast<std::uint64_t>(*special));
      instr.guard = kTruePredicate;
      instr.guard_flip = 0;
      return read;
    }
    default:
      unsupported("operand " + std::string(operand.text) + " cannot be used here");
      return constant(0, bytes);
  }
}

Ref Decoder::destination(const Operand& operand, Type type) {
  if (operand.kind == OperandKind::kSink) return temporary(bytes_of(type));
  if (operand.kind != OperandKind::kRegister) {
    unsupported("the destination is no register");
    return temporary(bytes_of(type));
  }
  const Type declared = expansion_->function->registers[operand.index].type;
  if (declared == Type::kPred || bytes_of(declared) != bytes_of(type)) {
    unsupported("destination " + std::string(operand.text) + " is ." + std::string(name_of(declared)) +
                " where " + std::to_string(8 * bytes_of(type)) + " bits are wanted");
    return temporary(bytes_of(type));
  }
  return {register_of(operand.index), false};
}

Ref Decoder::wide_source(const Operand& operand, Type type, unsigned* bytes) {
  *bytes = std::max(bytes_of(type), 1u);
  if (operand.kind != OperandKind::kRegister) {
    return source(operand, type);
  }
  const Type declared = expansion_->function->registers[operand.index].type;
  if (bytes_of(declared) < *bytes) return source(operand, type);  // notes the error
  *bytes = bytes_of(declared);
  return {register_of(operand.index), false};
}

Ref Decoder::wide_destination(const Operand& operand, Type type, unsigned* bytes) {
  *bytes = std::max(bytes_of(type), 1u);
  if (operand.kind != OperandKind::kRegister) return destination(operand, type);
  const Type declared = expansion_->function->registers[operand.index].type;
  if (bytes_of(declared) < *bytes) return destination(operand, type);
  *bytes = bytes_of(declared);
  return {register_of(operand.index), false};
}

Ref Decoder::predicate_source(const Operand& operand) {
  if (operand.kind == OperandKind::kInteger) return {operand.value ? kTruePredicate : kFalsePredicate, true};
  if (operand.kind != OperandKind::kRegister ||
      expansion_->function->registers[operand.index].type != Type::kPred) {
    unsupported("operand " + std::string(operand.text) + " is no predicate");
    return {kTruePredicate, true};
  }
  return {register_of(operand.index), true};
}

Ref Decoder::predicate_destination(const Operand& operand) {
  if (operand.kind == OperandKind::kSink) return temporary(0);
  const Ref ref = predicate_source(operand);
  return ref.value < 2 ? temporary(0) : ref;
}

Ref Decoder::paired_destination(const Operand& operand) {
  if (operand.paired == kNoIndex || operand.paired == kSinkPair) return {};
  if (expansion_->function->registers[operand.paired].type != Type::kPred) {
    unsupported("the register after '|' is no predicate");
    return {};
  }
  return {register_of(operand.paired), true};
}

bool Decoder::expect_operands(std::size_t least, std::size_t most) {
  const std::size_t count = statement_->operands.size();
  if (count >= least && count <= most) return true;
  unsupported("wrong number of operands");
  return false;
}

void Decoder::jump_to_label(const Operand& operand) {
  if (operand.kind != OperandKind::kLabel || expansion_->function->labels[operand.index] == kNoIndex) {
    return unsupported("unknown label " + std::string(operand.text));
  }
  expansion_->branches.emplace_back(static_cast<std::uint32_t>(function_.code.size() - 1), operand.index);
}

void Decoder::jump_to_end() {
  expansion_->returns.push_back(static_cast<std::uint32_t>(function_.code.size() - 1));
}

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
    emit(&run_trap, {});
    roles().flow = Roles::Flow::kStop;
    return;
  }
  if (const auto callee = layout_.functions.find(name->text); callee != layout_.functions.end()) {
    if (depth_ >= kMaxCallDepth) return unsupported("calls nested more than 32 deep, or a recursion");
    return expand(module_.functions[callee->second], results, arguments);
  }
  unsupported("call of " + std::string(name->text) + ", which this module does not define");
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
