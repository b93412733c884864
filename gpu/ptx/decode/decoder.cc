#include "gpu/ptx/decode/decoder.h"

#include <algorithm>
#include <unordered_map>

#include "gpu/ptx/run/handlers.h"

namespace moe4::ptx {
namespace {

constexpr std::size_t kMaxUnsupported = 64;
constexpr std::uint64_t kMaxStatements = 1u << 22;

std::uint64_t align_up(std::uint64_t value, std::uint64_t align) {
  return (value + align - 1) / align * align;
}

}  // namespace

DecodeFunction find_decoder(std::string_view base) {
  static const std::unordered_map<std::string_view, DecodeFunction> kTable = [] {
    std::unordered_map<std::string_view, DecodeFunction> table;
    for (const auto& family :
         {integer_decoders(), logic_decoders(), arithmetic_decoders(), compare_decoders(), convert_decoders(),
          move_decoders(), memory_decoders(), atomic_decoders(), control_decoders(), warp_decoders(),
          matrix_decoders(), async_decoders(), wgmma_decoders(), cluster_decoders(), tensor_map_decoders()}) {
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

}  // namespace moe4::ptx
