// Statements of a function to flat instructions. While decoding, operands are virtual registers; registers.h
// places them at the end. What cannot be run is noted in EntryInfo::unsupported, never skipped.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gpu/ptx/alu/alu.h"
#include "gpu/ptx/program/program.h"
#include "gpu/ptx/text/syntax.h"

namespace moe4::ptx {

// An operand of a flat instruction before registers are placed: a virtual register, or a constant.
struct Ref {
  std::uint32_t value = kNoIndex;
  bool predicate = false;

  bool given() const { return value != kNoIndex; }
};

// A virtual register of the flat code. Numbers 0 and 1 are the predicates that are always true and false.
struct VirtualRegister {
  std::uint8_t bytes = 0;  // 0: a predicate
};

// The modifiers of one opcode, in any order. Each must be taken by the decoder of its family.
class Modifiers {
 public:
  explicit Modifiers(const std::vector<std::string_view>& all) : all_(all), taken_(all.size(), false) {}

  bool take(std::string_view name);
  bool take_any(std::initializer_list<std::string_view> names);
  // The first type not yet taken; kNone when there is none.
  Type take_type();
  // An untaken modifier that is in `names`; empty when there is none.
  std::string_view take_one_of(std::initializer_list<std::string_view> names);
  std::string_view untaken() const;
  const std::vector<std::string_view>& all() const { return all_; }

 private:
  const std::vector<std::string_view>& all_;
  std::vector<bool> taken_;
};

// One function body that is being decoded: the entry itself, or a device function expanded at a call.
struct Expansion {
  const FunctionSyntax* function = nullptr;
  std::vector<std::uint32_t> registers;         // virtual register of each, kNoIndex until used
  std::vector<std::uint64_t> variable_offsets;  // in its space
  std::vector<std::uint32_t> label_code;        // code index of each label
  std::vector<std::pair<std::uint32_t, std::uint32_t>> branches;  // code index, label
  std::vector<std::uint32_t> returns;                             // code indices of jumps to the end
  struct List {
    std::uint32_t table = 0, place = 0, label = 0;
  };
  std::vector<List> branch_lists;
};

struct ModuleLayout {
  std::vector<std::uint64_t> variable_offsets;                    // of module variables, in their spaces
  std::unordered_map<std::string_view, std::uint32_t> functions;  // device functions with a body
};

class Decoder {
 public:
  Decoder(const ModuleSyntax& module, const ModuleLayout& layout, const FunctionSyntax& entry,
          Function* function);

  void run();

  // ---- for the decoders of the families ----

  // An instruction under the guard of the current statement. A null handler is noted as unsupported.
  Instr& emit(Handler handler, Ref d, Ref a = {}, Ref b = {}, Ref c = {}, std::uint64_t imm = 0);
  // Fields of the last instruction that do not follow the usual roles.
  Roles& roles() { return function_.roles.back(); }
  void read_e(Ref e);   // e is a source
  void write_e(Ref e);  // e is a second destination
  // Appends a list of register operands to the last instruction; returns its index.
  std::uint32_t set_list(const std::vector<Ref>& writes, const std::vector<Ref>& reads);

  Ref source(const Operand& operand, Type type);
  Ref destination(const Operand& operand, Type type);
  // Registers of any width of at least `least` bytes (ld, st, cvt).
  Ref wide_source(const Operand& operand, Type type, unsigned* bytes);
  Ref wide_destination(const Operand& operand, Type type, unsigned* bytes);
  Ref predicate_source(const Operand& operand);  // without its negation
  Ref predicate_destination(const Operand& operand);
  Ref paired_destination(const Operand& operand);  // the q of d|q; not given when there is none

  Ref constant(std::uint64_t value, unsigned bytes);
  Ref temporary(unsigned bytes);  // 0: a predicate
  std::uint64_t immediate_bits(const Operand& operand, Type type) const;

  // The address of a variable: value, and the space it is relative to.
  std::uint64_t address_of(const Operand& operand, Space* space);
  const Variable& variable(std::uint32_t index) const;
  std::uint64_t dynamic_base() const;  // where dynamic shared memory begins

  bool expect_operands(std::size_t least, std::size_t most);
  bool expect_operands(std::size_t count) { return expect_operands(count, count); }
  void unsupported(std::string message);
  void approximate();  // the ISA gives a bound for the result, and no bits
  bool failed() const { return failed_; }

  const Statement& statement() const { return *statement_; }
  Function& function() { return function_; }
  Expansion& expansion() { return *expansion_; }
  const Alu& alu() const { return alu_; }
  void jump_to_label(const Operand& operand);  // the last instruction branches there
  void jump_to_end();                          // … or behind the expanded function
  bool in_entry() const { return depth_ == 0; }

  void call(const Statement& statement);
  std::vector<VirtualRegister>& registers() { return registers_; }

 private:
  void decode_body();
  void decode_statement(const Statement& statement);
  // The offsets of a call's arguments in local memory, then (with results) that of the result.
  bool frame_offsets(const Operand* results, const Operand* arguments, std::size_t count,
                     std::uint32_t* list);
  void expand(const FunctionSyntax& callee, const Operand* results, const Operand* arguments);
  void lay_out_shared();
  void lay_out(Expansion* expansion);
  std::uint32_t register_of(std::uint32_t index);
  std::uint32_t allocate_local(std::uint64_t bytes, std::uint32_t align);

  const ModuleSyntax& module_;
  const ModuleLayout& layout_;
  const FunctionSyntax& entry_;
  Function& function_;
  const Alu& alu_;
  std::vector<VirtualRegister> registers_;
  std::map<std::pair<std::uint64_t, unsigned>, std::uint32_t> constants_;
  std::map<const Variable*, std::uint64_t> shared_offsets_;
  Expansion* expansion_ = nullptr;
  const Statement* statement_ = nullptr;
  std::uint32_t source_ = 0;
  int depth_ = 0;
  bool failed_ = false;
  std::uint64_t statements_left_;
};

using DecodeFunction = void (*)(Decoder&, const Statement&, Modifiers&);

// The decoder of an opcode's base ("ld"), nullptr for an unknown one.
DecodeFunction find_decoder(std::string_view base);

struct DecoderEntry {
  std::string_view base;
  DecodeFunction decode;
};
// One table a family.
std::vector<DecoderEntry> integer_decoders();
std::vector<DecoderEntry> logic_decoders();
std::vector<DecoderEntry> arithmetic_decoders();
std::vector<DecoderEntry> compare_decoders();
std::vector<DecoderEntry> convert_decoders();
std::vector<DecoderEntry> move_decoders();
std::vector<DecoderEntry> memory_decoders();
std::vector<DecoderEntry> atomic_decoders();
std::vector<DecoderEntry> control_decoders();
std::vector<DecoderEntry> warp_decoders();
std::vector<DecoderEntry> matrix_decoders();
std::vector<DecoderEntry> async_decoders();
std::vector<DecoderEntry> wgmma_decoders();
std::vector<DecoderEntry> cluster_decoders();
std::vector<DecoderEntry> tensor_map_decoders();

}  // namespace moe4::ptx
