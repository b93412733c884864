// mma.sync, ldmatrix, stmatrix.
#include "gpu/ptx/decode/memory_operand.h"
#include "gpu/ptx/tensor/tensor_ops.h"

namespace moe4::ptx {
namespace {

bool append(Decoder& decoder, const Operand& operand, Type type, std::size_t count, bool destination,
            std::vector<Ref>* to) {
  const auto items = value_operands(operand);
  if (items.size() != count) {
    decoder.unsupported("wrong number of registers in a fragment");
    return false;
  }
  for (const Operand* item : items) {
    to->push_back(destination ? decoder.destination(*item, type) : decoder.source(*item, type));
  }
  return true;
}

// mma.sync.aligned.m16n8k{8,16}.row.col.f32.{bf16,f16}.{bf16,f16}.f32 d, a, b, c;
void decode_mma(Decoder& decoder, const Statement& s, Modifiers& m) {
  MmaShape shape;
  const bool form = m.take("sync") && m.take("aligned") && m.take("row") && m.take("col");
  const std::string_view size = m.take_one_of({"m16n8k16", "m16n8k8"});
  const Type d = m.take_type(), a = m.take_type(), b = m.take_type(), c = m.take_type();
  if (!form || size.empty() || d != Type::kF32 || c != Type::kF32 || a != b ||
      (a != Type::kF16 && a != Type::kBF16)) {
    return decoder.unsupported("unsupported form of the instruction");
  }
  if (!decoder.expect_operands(4)) return;
  shape.type = a == Type::kF16 ? TensorType::kF16 : TensorType::kBF16;
  shape.k = size == "m16n8k16" ? 16 : 8;
  std::vector<Ref> writes, reads;
  if (!append(decoder, s.operands[0], Type::kF32, 4, true, &writes) ||
      !append(decoder, s.operands[1], Type::kB32, shape.k / 4, false, &reads) ||
      !append(decoder, s.operands[2], Type::kB32, shape.k / 8, false, &reads) ||
      !append(decoder, s.operands[3], Type::kF32, 4, false, &reads)) {
    return;
  }
  decoder.emit(&run_mma, {}, {}, {}, {}, encode(shape));
  decoder.function().code.back().aux = decoder.set_list(writes, reads);
  decoder.function().info.needs_tensor_core = true;
  (shape.type == TensorType::kF16 ? decoder.function().multiplies_f16 : decoder.function().multiplies_bf16) =
      true;
}

// The shape, and the address and the registers as the two operands.
void decode_matrix_move(Decoder& decoder, const Statement& s, Modifiers& m, bool store) {
  const bool form = m.take("sync") && m.take("aligned") && m.take("m8n8");
  const std::string_view number = m.take_one_of({"x1", "x2", "x4"});
  const bool transposed = m.take("trans");
  MemoryOp op;
  take_space(m, &op);
  if (!form || number.empty() || m.take_type() != Type::kB16 ||
      (op.space != Space::kShared && op.space != Space::kGeneric)) {
    return decoder.unsupported("unsupported form of the instruction");
  }
  if (!decoder.expect_operands(2)) return;
  op.type = Type::kB128;
  op.element_bytes = op.register_bytes = 16;
  Ref a;
  if (!read_address(decoder, s.operands[store ? 0 : 1], &op, &a)) return;
  std::vector<Ref> registers;
  if (!append(decoder, s.operands[store ? 1 : 0], Type::kB32, static_cast<std::size_t>(number[1] - '0'),
              !store, &registers)) {
    return;
  }
  if (store) {
    // A lane stores 4 bytes of a row.
    MemoryOp word = op;
    word.element_bytes = 4;
    note_store(decoder, word);
  }
  decoder.emit(store ? &run_store_matrix : &run_load_matrix, {}, a, {}, {}, transposed ? 1 : 0);
  op.list = store ? decoder.set_list({}, registers) : decoder.set_list(registers, {});
  decoder.function().code.back().aux = add_op(decoder, op);
}

void decode_ldmatrix(Decoder& decoder, const Statement& s, Modifiers& m) {
  decode_matrix_move(decoder, s, m, false);
}
void decode_stmatrix(Decoder& decoder, const Statement& s, Modifiers& m) {
  decode_matrix_move(decoder, s, m, true);
}

}  // namespace

std::vector<DecoderEntry> matrix_decoders() {
  return {{"mma", &decode_mma}, {"ldmatrix", &decode_ldmatrix}, {"stmatrix", &decode_stmatrix}};
}

}  // namespace moe4::ptx
