// Operands of a statement as virtual registers and constants.
#include <algorithm>
#include <bit>
#include <cstring>

#include "gpu/ptx/decode/decoder.h"
#include "gpu/ptx/run/handlers.h"

namespace moe4::ptx {
namespace {

constexpr std::size_t kMaxConstants = std::size_t{1} << 26;

std::uint64_t align_up(std::uint64_t value, std::uint64_t align) {
  return (value + align - 1) / align * align;
}

}  // namespace

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
    for (unsigned lane = 0; bytes > 0 && lane < kLanes; ++lane) {  // 0: the type is unknown
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

std::uint64_t Decoder::dynamic_base() const {
  return align_up(kSharedBase + function_.static_shared_bytes, 1024);
}

std::uint64_t Decoder::address_of(const Operand& operand, Space* space) {
  const Variable& named = variable(operand.index);
  *space = named.space;
  std::uint64_t base = 0;
  if (operand.index < kModuleVariables) {
    base = named.dynamic ? dynamic_base() : expansion_->variable_offsets[operand.index];
    // Formal parameters of an expanded function are its caller's .param variables.
    if (named.space == Space::kParam && depth_ > 0) *space = Space::kFrame;
  } else if (named.space == Space::kShared) {
    base = named.dynamic ? dynamic_base() : shared_offsets_[&named];
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

}  // namespace moe4::ptx
