// ld, st, and the hints about caches.
#include "gpu/ptx/decode/async_families.h"
#include "gpu/ptx/decode/memory_operand.h"
#include "gpu/ptx/run/handlers.h"

namespace moe4::ptx {
namespace {

// What ld and st share: everything but the address and the values.
bool read_access(Decoder& decoder, Modifiers& m, MemoryOp* op, bool* non_coherent) {
  *non_coherent = m.take("nc");
  take_hints(m);
  take_space(m, op);
  op->order = take_order(m, op).order;
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
  if (m.take("async")) return decode_store_async(decoder, s, m);
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

// prefetch (of tensor maps too), discard, applypriority: no value depends on them.
void decode_hint(Decoder& decoder, const Statement&, Modifiers& m) {
  for (const std::string_view word : m.all()) {
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
          {"prefetch", &decode_hint},
          {"prefetchu", &decode_hint},
          {"discard", &decode_hint},
          {"applypriority", &decode_hint},
          {"createpolicy", &decode_createpolicy}};
}

}  // namespace moe4::ptx
