// ld, st, atom, red, and the hints about caches.
#include <algorithm>
#include <array>
#include <utility>

#include "gpu/ptx/decode/families.h"
#include "gpu/ptx/run/handlers.h"

namespace moe4::ptx {
namespace {

// Hints that change no value: cache operators, eviction priorities, prefetch sizes.
void take_hints(Modifiers& m) {
  for (const std::string_view word : m.all()) {
    constexpr std::array<std::string_view, 9> kCache{"ca", "cg", "cs",      "lu", "cv",
                                                     "wb", "wt", "unified", "nc"};
    const bool cache = std::find(kCache.begin(), kCache.end(), word) != kCache.end() && word != "nc";
    if (cache || (word.substr(0, 4) == "L1::") || (word.substr(0, 4) == "L2::")) m.take(word);
  }
}

Space take_space(Modifiers& m) {
  constexpr std::pair<std::string_view, Space> kNames[] = {
      {"global", Space::kGlobal},     {"shared", Space::kShared}, {"shared::cta", Space::kShared},
      {"local", Space::kLocal},       {"param", Space::kParam},   {"param::entry", Space::kParam},
      {"param::func", Space::kFrame}, {"const", Space::kConst}};
  for (const auto& [name, space] : kNames) {
    if (m.take(name)) return space;
  }
  return Space::kGeneric;
}

struct Ordering {
  Order order = Order::kWeak;
  bool given = false;
  bool wide = true;  // .gpu and .sys; blocks are clusters of their own
};

Ordering take_order(Modifiers& m) {
  constexpr std::pair<std::string_view, Order> kNames[] = {
      {"weak", Order::kWeak},       {"relaxed", Order::kRelaxed}, {"acquire", Order::kAcquire},
      {"release", Order::kRelease}, {"acq_rel", Order::kAcqRel},  {"volatile", Order::kRelaxed}};
  Ordering result;
  for (const auto& [name, order] : kNames) {
    if (!m.take(name)) continue;
    result = {order, true, true};
  }
  const std::string_view scope = m.take_one_of({"cta", "cluster", "gpu", "sys"});
  result.wide = scope != "cta" && scope != "cluster";
  return result;
}

// The address operand: register in `a`, the rest in `op`.
bool read_address(Decoder& decoder, const Operand& operand, MemoryOp* op, Ref* a) {
  if (operand.kind != OperandKind::kAddress || operand.items.size() != 1) {
    decoder.unsupported("malformed address");
    return false;
  }
  const Operand& base = operand.items[0];
  op->offset = operand.value;
  switch (base.kind) {
    case OperandKind::kRegister: {
      unsigned bytes = 0;
      *a = decoder.wide_source(base, Type::kB32, &bytes);
      if (bytes != 4 && bytes != 8) {
        decoder.unsupported("address register of a wrong width");
        return false;
      }
      op->register_address = true;
      op->address_bytes = static_cast<std::uint8_t>(bytes);
      if (op->space == Space::kParam && !decoder.in_entry()) op->space = Space::kFrame;
      break;
    }
    case OperandKind::kVariable: {
      Space space;
      const std::uint64_t address = decoder.address_of(base, &space);
      op->offset = static_cast<std::int64_t>(static_cast<std::uint64_t>(op->offset) + address);
      if (op->space == Space::kParam || op->space == Space::kFrame) {
        op->space = space;
        if (space != Space::kParam && space != Space::kFrame) {
          decoder.unsupported("the variable is not in the space of the instruction");
          return false;
        }
      } else if (op->space != space && !(op->space == Space::kGeneric && space == Space::kGlobal)) {
        decoder.unsupported("the variable is not in the space of the instruction");
        return false;
      }
      break;
    }
    case OperandKind::kInteger:
      op->offset = static_cast<std::int64_t>(static_cast<std::uint64_t>(op->offset) +
                                             static_cast<std::uint64_t>(base.value));
      break;
    default:
      decoder.unsupported("malformed address");
      return false;
  }
  if (op->space == Space::kFrame) op->space = Space::kLocal;
  return true;
}

bool reaches_other_blocks(const MemoryOp& op) {
  return op.space == Space::kGlobal || op.space == Space::kGeneric;
}

void note_store(Decoder& decoder, const MemoryOp& op) {
  if (op.space == Space::kLocal || op.space == Space::kParam) return;
  const unsigned bytes = unsigned{op.element_bytes} * op.count;
  decoder.function().race_granule = std::min(decoder.function().race_granule, bytes);
}

unsigned take_vector(Modifiers& m) {
  if (m.take("v2")) return 2;
  if (m.take("v4")) return 4;
  if (m.take("v8")) return 8;
  return 1;
}

std::uint32_t add_op(Decoder& decoder, const MemoryOp& op) {
  decoder.function().memory_ops.push_back(op);
  return static_cast<std::uint32_t>(decoder.function().memory_ops.size() - 1);
}

// The value operands of a load or store: one, or the items of a vector.
std::vector<const Operand*> value_operands(const Operand& operand) {
  std::vector<const Operand*> result;
  if (operand.kind == OperandKind::kVector) {
    for (const Operand& item : operand.items) result.push_back(&item);
  } else {
    result.push_back(&operand);
  }
  return result;
}

// What ld and st share: everything but the address and the values.
bool read_access(Decoder& decoder, Modifiers& m, MemoryOp* op, bool* non_coherent) {
  *non_coherent = m.take("nc");
  take_hints(m);
  op->space = take_space(m);
  const Ordering ordering = take_order(m);
  op->order = ordering.order;
  op->wide = ordering.wide;
  op->count = static_cast<std::uint8_t>(take_vector(m));
  op->type = m.take_type();
  op->element_bytes = static_cast<std::uint8_t>(bytes_of(op->type));
  op->sign_extend = is_signed(op->type);
  if (op->type == Type::kPred || op->element_bytes == 0 || op->element_bytes * op->count > 32) {
    decoder.unsupported("unsupported form of the instruction");
    return false;
  }
  return true;
}

// Optional operands behind the address and the value: an L2 policy, ignored.
bool expect_access_operands(Decoder& decoder) { return decoder.expect_operands(2, 3); }

void decode_ld(Decoder& decoder, const Statement& s, Modifiers& m) {
  MemoryOp op;
  bool non_coherent = false;
  if (!read_access(decoder, m, &op, &non_coherent) || !expect_access_operands(decoder)) return;
  op.non_coherent = non_coherent;
  op.used_bytes = s.used_bytes_mask;
  Ref a;
  if (!read_address(decoder, s.operands[1], &op, &a)) return;
  const auto values = value_operands(s.operands[0]);
  if (values.size() != op.count) return decoder.unsupported("wrong number of vector elements");
  std::vector<Ref> writes;
  for (const Operand* value : values) {
    unsigned bytes = 0;
    writes.push_back(decoder.wide_destination(*value, op.type, &bytes));
    if (value != values.front() && value->kind != OperandKind::kSink && bytes != op.register_bytes) {
      return decoder.unsupported("vector elements of different widths");
    }
    if (value->kind != OperandKind::kSink || value == values.front())
      op.register_bytes = static_cast<std::uint8_t>(bytes);
  }
  // A sink has the width of the type; the others must have it too then.
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i]->kind == OperandKind::kSink) writes[i] = decoder.temporary(op.register_bytes);
  }
  if (op.order != Order::kWeak && reaches_other_blocks(op)) decoder.function().blocks_communicate = true;
  decoder.emit(&run_load, {}, a);
  op.list = decoder.set_list(writes, {});
  decoder.function().code.back().aux = add_op(decoder, op);
}

void decode_st(Decoder& decoder, const Statement& s, Modifiers& m) {
  MemoryOp op;
  bool non_coherent = false;
  if (!read_access(decoder, m, &op, &non_coherent) || !expect_access_operands(decoder)) return;
  Ref a;
  if (!read_address(decoder, s.operands[0], &op, &a)) return;
  const auto values = value_operands(s.operands[1]);
  if (values.size() != op.count) return decoder.unsupported("wrong number of vector elements");
  std::vector<Ref> reads;
  op.register_bytes = 0;
  for (const Operand* value : values) {
    if (value->kind != OperandKind::kRegister) continue;
    unsigned bytes = 0;
    decoder.wide_source(*value, op.type, &bytes);
    if (op.register_bytes != 0 && op.register_bytes != bytes) {
      return decoder.unsupported("vector elements of different widths");
    }
    op.register_bytes = static_cast<std::uint8_t>(bytes);
  }
  if (op.register_bytes == 0) op.register_bytes = op.element_bytes;
  for (const Operand* value : values) {
    unsigned bytes = 0;
    if (value->kind == OperandKind::kRegister) {
      reads.push_back(decoder.wide_source(*value, op.type, &bytes));
    } else {
      const Type type = op.register_bytes == op.element_bytes ? op.type : bits_of_width(op.register_bytes);
      reads.push_back(decoder.source(*value, type));
    }
  }
  if (op.space == Space::kConst || op.space == Space::kParam)
    return decoder.unsupported("store to a read-only space");
  if (op.order != Order::kWeak && reaches_other_blocks(op)) decoder.function().blocks_communicate = true;
  note_store(decoder, op);
  decoder.emit(&run_store, {}, a);
  op.list = decoder.set_list({}, reads);
  decoder.function().code.back().aux = add_op(decoder, op);
}

bool atomic_type_fits(AtomicOp op, Type type) {
  const bool int32 = type == Type::kU32 || type == Type::kS32,
             int64 = type == Type::kU64 || type == Type::kS64;
  const bool half =
      type == Type::kF16 || type == Type::kBF16 || type == Type::kF16x2 || type == Type::kBF16x2;
  switch (op) {
    case AtomicOp::kAdd:
      return int32 || int64 || half || type == Type::kF32 || type == Type::kF64;
    case AtomicOp::kMin:
    case AtomicOp::kMax:
      return int32 || int64 || half;
    case AtomicOp::kInc:
    case AtomicOp::kDec:
      return type == Type::kU32;
    case AtomicOp::kCas:
      return type == Type::kB16 || type == Type::kB32 || type == Type::kB64;
    case AtomicOp::kExch:
      return type == Type::kB32 || type == Type::kB64;
    case AtomicOp::kAnd:
    case AtomicOp::kOr:
    case AtomicOp::kXor:
      return type == Type::kB32 || type == Type::kB64;
  }
  return false;
}

void decode_atomic(Decoder& decoder, const Statement& s, Modifiers& m, bool result) {
  constexpr std::pair<std::string_view, AtomicOp> kOps[] = {
      {"add", AtomicOp::kAdd}, {"exch", AtomicOp::kExch}, {"cas", AtomicOp::kCas}, {"and", AtomicOp::kAnd},
      {"or", AtomicOp::kOr},   {"xor", AtomicOp::kXor},   {"inc", AtomicOp::kInc}, {"dec", AtomicOp::kDec},
      {"min", AtomicOp::kMin}, {"max", AtomicOp::kMax}};
  MemoryOp op;
  take_hints(m);
  op.space = take_space(m);
  const Ordering ordering = take_order(m);
  op.order = ordering.given ? ordering.order : Order::kRelaxed;
  op.wide = ordering.wide;
  op.count = static_cast<std::uint8_t>(take_vector(m));
  bool known = false;
  for (const auto& [name, value] : kOps) {
    if (!m.take(name)) continue;
    op.atomic = value;
    known = true;
    break;
  }
  const bool noftz = m.take("noftz");
  op.type = m.take_type();
  op.element_bytes = op.register_bytes = static_cast<std::uint8_t>(bytes_of(op.type));
  const bool cas = op.atomic == AtomicOp::kCas;
  const std::size_t operands = (result ? 1u : 0u) + 2 + (cas ? 1 : 0);
  if (!decoder.expect_operands(operands, operands + 1)) return;
  const bool half = is_float(op.type) && op.type != Type::kF32 && op.type != Type::kF64;
  if (!known || !atomic_type_fits(op.atomic, op.type) || (noftz && !half) ||
      (op.count > 1 && !is_float(op.type)) || (cas && !result)) {
    return decoder.unsupported("unsupported form of the instruction");
  }
  Ref a;
  const std::size_t at = result ? 1 : 0;
  if (!read_address(decoder, s.operands[at], &op, &a)) return;
  if (op.space != Space::kGlobal && op.space != Space::kShared && op.space != Space::kGeneric) {
    return decoder.unsupported("atomic operation outside global and shared memory");
  }
  std::vector<Ref> writes, reads;
  const auto values = value_operands(s.operands[at + 1]);
  if (values.size() != op.count) return decoder.unsupported("wrong number of vector elements");
  for (const Operand* value : values) reads.push_back(decoder.source(*value, op.type));
  if (cas) reads.push_back(decoder.source(s.operands[at + 2], op.type));
  if (result) {
    const auto results = value_operands(s.operands[0]);
    if (results.size() != op.count) {
      if (s.operands[0].kind != OperandKind::kSink)
        return decoder.unsupported("wrong number of vector elements");
      for (unsigned i = 0; i < op.count; ++i) writes.push_back(decoder.temporary(op.register_bytes));
    } else {
      for (const Operand* value : results) writes.push_back(decoder.destination(*value, op.type));
    }
  }
  if (reaches_other_blocks(op)) decoder.function().blocks_communicate = true;
  note_store(decoder, op);
  decoder.emit(&run_atomic, {}, a, {}, {}, result ? 1 : 0);
  op.list = decoder.set_list(writes, reads);
  decoder.function().code.back().aux = add_op(decoder, op);
}

void decode_atom(Decoder& decoder, const Statement& s, Modifiers& m) { decode_atomic(decoder, s, m, true); }
void decode_red(Decoder& decoder, const Statement& s, Modifiers& m) { decode_atomic(decoder, s, m, false); }

// prefetch, discard, applypriority: no value depends on them.
void decode_hint(Decoder& decoder, const Statement&, Modifiers& m) {
  for (const std::string_view word : m.all()) {
    if (word == "tensormap") return decoder.unsupported("unsupported form of the instruction");
    m.take(word);
  }
  decoder.emit(&run_nothing, {});
}

void decode_createpolicy(Decoder& decoder, const Statement& s, Modifiers& m) {
  for (const std::string_view word : m.all()) m.take(word);
  if (!decoder.expect_operands(1, 4)) return;
  decoder.emit(decoder.alu().integer(IntOp::kMove, Type::kB64),
               decoder.destination(s.operands[0], Type::kB64), decoder.constant(0, 8));
}

}  // namespace

std::vector<DecoderEntry> memory_decoders() {
  return {{"ld", &decode_ld},
          {"ldu", &decode_ld},
          {"st", &decode_st},
          {"atom", &decode_atom},
          {"red", &decode_red},
          {"prefetch", &decode_hint},
          {"prefetchu", &decode_hint},
          {"discard", &decode_hint},
          {"applypriority", &decode_hint},
          {"createpolicy", &decode_createpolicy}};
}

}  // namespace moe4::ptx
