// atom and red.
#include <utility>

#include "gpu/ptx/decode/memory_operand.h"
#include "gpu/ptx/run/handlers.h"

namespace moe4::ptx {
namespace {

void decode_atomic(Decoder& decoder, const Statement& s, Modifiers& m, bool result) {
  constexpr std::pair<std::string_view, AtomicOp> kOps[] = {
      {"add", AtomicOp::kAdd}, {"exch", AtomicOp::kExch}, {"cas", AtomicOp::kCas}, {"and", AtomicOp::kAnd},
      {"or", AtomicOp::kOr},   {"xor", AtomicOp::kXor},   {"inc", AtomicOp::kInc}, {"dec", AtomicOp::kDec},
      {"min", AtomicOp::kMin}, {"max", AtomicOp::kMax}};
  MemoryOp op;
  take_hints(m);
  take_space(m, &op);
  const Ordering ordering = take_order(m, &op);
  op.order = ordering.given ? ordering.order : Order::kRelaxed;
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

}  // namespace

std::vector<DecoderEntry> atomic_decoders() { return {{"atom", &decode_atom}, {"red", &decode_red}}; }

}  // namespace moe4::ptx
