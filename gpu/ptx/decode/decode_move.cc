// mov, in all its forms.
#include "gpu/ptx/decode/families.h"
#include "gpu/ptx/run/handlers.h"

namespace moe4::ptx {
namespace {

// A register of any type of `bytes`, or a constant.
Type part_type(unsigned bytes) { return bits_of_width(bytes); }

void decode_pack(Decoder& decoder, const Statement& s, Type type, const Operand& parts) {
  const auto count = static_cast<unsigned>(parts.items.size());
  const unsigned bytes = count == 0 ? 0 : bytes_of(type) / count;
  if (bytes == 0 || bytes * count != bytes_of(type))
    return decoder.unsupported("unsupported form of the instruction");
  std::vector<Ref> reads;
  for (const Operand& part : parts.items) reads.push_back(decoder.source(part, part_type(bytes)));
  decoder.emit(pack_handler(bytes), decoder.destination(s.operands[0], type), {}, {}, {}, count);
  decoder.function().code.back().aux = decoder.set_list({}, reads);
}

void decode_unpack(Decoder& decoder, const Statement& s, Type type, const Operand& parts) {
  const auto count = static_cast<unsigned>(parts.items.size());
  const unsigned bytes = count == 0 ? 0 : bytes_of(type) / count;
  if (bytes == 0 || bytes * count != bytes_of(type))
    return decoder.unsupported("unsupported form of the instruction");
  const Ref a = decoder.source(s.operands[1], type);
  std::vector<Ref> writes;
  for (const Operand& part : parts.items) writes.push_back(decoder.destination(part, part_type(bytes)));
  decoder.emit(unpack_handler(bytes), {}, a, {}, {}, count);
  decoder.function().code.back().aux = decoder.set_list(writes, {});
}

void decode_mov(Decoder& decoder, const Statement& s, Modifiers& m) {
  const Type type = m.take_type();
  if (!decoder.expect_operands(2)) return;
  if (type == Type::kPred) {
    if (s.operands[1].kind == OperandKind::kSpecial &&
        special_named(s.operands[1].text) == Special::kExplicitCluster) {
      decoder.emit(&run_special_predicate, decoder.predicate_destination(s.operands[0]));
      return;
    }
    const Ref a = decoder.predicate_source(s.operands[1]);
    decoder.emit(&run_move_predicate, decoder.predicate_destination(s.operands[0]), a, {}, {},
                 s.operands[1].negated ? kAllLanes : 0);
    return;
  }
  if (s.operands[1].kind == OperandKind::kVector) return decode_pack(decoder, s, type, s.operands[1]);
  if (s.operands[0].kind == OperandKind::kVector) return decode_unpack(decoder, s, type, s.operands[0]);
  const Operand& from = s.operands[1];
  if (from.kind == OperandKind::kSpecial) {
    // %clock64 and the like may be read into a register of the other width only through their own type.
    const auto special = special_named(from.text);
    if (!special || bytes_of_special(*special) != bytes_of(type)) {
      return decoder.unsupported("special register " + std::string(from.text));
    }
    decoder.emit(&run_special, decoder.destination(s.operands[0], type), {}, {}, {},
                 static_cast<std::uint64_t>(*special));
    return;
  }
  const Ref a = decoder.source(from, type);
  const Handler move = bytes_of(type) == 16 ? move_wide_handler()
                                            : decoder.alu().integer(IntOp::kMove, part_type(bytes_of(type)));
  decoder.emit(move, decoder.destination(s.operands[0], type), a);
}

}  // namespace

std::vector<DecoderEntry> move_decoders() { return {{"mov", &decode_mov}}; }

}  // namespace moe4::ptx
