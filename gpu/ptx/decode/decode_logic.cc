// and … prmt: bits of registers and of predicates.
#include <array>
#include <utility>

#include "gpu/ptx/decode/families.h"
#include "gpu/ptx/run/handlers.h"

namespace moe4::ptx {
namespace {

template <IntOp kOp, Handler kPredicate>
void decode_bitwise(Decoder& decoder, const Statement& s, Modifiers& m) {
  const Type type = m.take_type();
  if (!decoder.expect_operands(3)) return;
  if (type == Type::kPred) {
    const Ref a = decoder.predicate_source(s.operands[1]), b = decoder.predicate_source(s.operands[2]);
    if (s.operands[1].negated || s.operands[2].negated) return decoder.unsupported("'!' on an operand");
    decoder.emit(kPredicate, decoder.predicate_destination(s.operands[0]), a, b);
    return;
  }
  const Ref a = decoder.source(s.operands[1], type), b = decoder.source(s.operands[2], type);
  decoder.emit(decoder.alu().integer(kOp, type), decoder.destination(s.operands[0], type), a, b);
}

template <IntOp kOp>
void decode_one_source(Decoder& decoder, const Statement& s, Modifiers& m) {
  const Type type = m.take_type();
  if (!decoder.expect_operands(2)) return;
  if (type == Type::kPred && kOp == IntOp::kNot) {
    const Ref a = decoder.predicate_source(s.operands[1]);
    decoder.emit(&run_not_predicate, decoder.predicate_destination(s.operands[0]), a);
    return;
  }
  const Ref a = decoder.source(s.operands[1], type);
  const bool counts = kOp == IntOp::kPopc || kOp == IntOp::kClz;
  decoder.emit(decoder.alu().integer(kOp, type),
               decoder.destination(s.operands[0], counts ? Type::kB32 : type), a);
}

void decode_bfind(Decoder& decoder, const Statement& s, Modifiers& m) {
  const Type type = m.take_type();
  const bool shift = m.take("shiftamt");
  if (!decoder.expect_operands(2)) return;
  const Ref a = decoder.source(s.operands[1], type);
  decoder.emit(decoder.alu().integer(shift ? IntOp::kBfindShift : IntOp::kBfind, type),
               decoder.destination(s.operands[0], Type::kB32), a);
}

template <IntOp kOp>
void decode_shift(Decoder& decoder, const Statement& s, Modifiers& m) {
  const Type type = m.take_type();
  if (!decoder.expect_operands(3)) return;
  const Ref a = decoder.source(s.operands[1], type), b = decoder.source(s.operands[2], Type::kB32);
  decoder.emit(decoder.alu().integer(kOp, type), decoder.destination(s.operands[0], type), a, b);
}

void emit_words(Decoder& decoder, const Statement& s, IntOp op, Type type, std::uint64_t imm = 0) {
  Ref sources[3];
  for (std::size_t i = 1; i < s.operands.size() && i < 4; ++i) {
    sources[i - 1] = decoder.source(s.operands[i], Type::kB32);
  }
  decoder.emit(decoder.alu().integer(op, type), decoder.destination(s.operands[0], Type::kB32), sources[0],
               sources[1], sources[2], imm);
}

void decode_shf(Decoder& decoder, const Statement& s, Modifiers& m) {
  const bool left = m.take("l");
  const bool right = m.take("r");
  const bool wrap = m.take("wrap");
  const bool clamp = m.take("clamp");
  if (!decoder.expect_operands(4)) return;
  if (left == right || wrap == clamp || m.take_type() != Type::kB32) {
    return decoder.unsupported("unsupported form of the instruction");
  }
  emit_words(decoder, s,
             left ? (wrap ? IntOp::kShfLeftWrap : IntOp::kShfLeftClamp)
                  : (wrap ? IntOp::kShfRightWrap : IntOp::kShfRightClamp),
             Type::kB32);
}

void decode_bfe(Decoder& decoder, const Statement& s, Modifiers& m) {
  const Type type = m.take_type();
  if (!decoder.expect_operands(4)) return;
  const Ref a = decoder.source(s.operands[1], type);
  const Ref b = decoder.source(s.operands[2], Type::kB32), c = decoder.source(s.operands[3], Type::kB32);
  decoder.emit(decoder.alu().integer(IntOp::kBfe, type), decoder.destination(s.operands[0], type), a, b, c);
}

void decode_bfi(Decoder& decoder, const Statement& s, Modifiers& m) {
  const Type type = m.take_type();
  if (!decoder.expect_operands(5)) return;
  const Ref a = decoder.source(s.operands[1], type), b = decoder.source(s.operands[2], type);
  const Ref c = decoder.source(s.operands[3], Type::kB32), e = decoder.source(s.operands[4], Type::kB32);
  decoder.emit(decoder.alu().integer(IntOp::kBfi, type), decoder.destination(s.operands[0], type), a, b, c);
  decoder.read_e(e);
}

// lop3.b32 d, a, b, c, table;  or  lop3.or.b32 d|p, a, b, c, table, q;
void decode_lop3(Decoder& decoder, const Statement& s, Modifiers& m) {
  const std::string_view combine = m.take_one_of({"or", "and"});
  if (!decoder.expect_operands(combine.empty() ? 5 : 6)) return;
  const Operand& table = s.operands[4];
  if (m.take_type() != Type::kB32 || table.kind != OperandKind::kInteger || table.value < 0 ||
      table.value > 0xff) {
    return decoder.unsupported("unsupported form of the instruction");
  }
  Ref sources[3];
  for (std::size_t i = 0; i < 3; ++i) sources[i] = decoder.source(s.operands[i + 1], Type::kB32);
  const Ref d = decoder.destination(s.operands[0], Type::kB32);
  decoder.emit(decoder.alu().integer(IntOp::kLop3, Type::kB32), d, sources[0], sources[1], sources[2],
               static_cast<std::uint64_t>(table.value));
  if (combine.empty()) return;
  const Ref p = decoder.paired_destination(s.operands[0]);
  if (!p.given()) return;
  const PredicateTail tail{combine == "or" ? PredicateOp::kOr : PredicateOp::kAnd, s.operands[5].negated};
  const Ref q = decoder.predicate_source(s.operands[5]);
  decoder.emit(decoder.alu().set_predicate(Compare::kNe, Type::kB32, false), p, d, decoder.constant(0, 4), q,
               encode(tail));
}

void decode_prmt(Decoder& decoder, const Statement& s, Modifiers& m) {
  constexpr std::array<std::string_view, 6> kModes{"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
  std::uint64_t mode = 0;
  for (std::size_t i = 0; i < kModes.size(); ++i) {
    if (m.take(kModes[i])) mode = i + 1;
  }
  if (!decoder.expect_operands(4)) return;
  if (m.take_type() != Type::kB32) return decoder.unsupported("unsupported form of the instruction");
  emit_words(decoder, s, IntOp::kPrmt, Type::kB32, mode);
}

void decode_bmsk(Decoder& decoder, const Statement& s, Modifiers& m) {
  const bool wrap = m.take("wrap");
  m.take("clamp");
  m.take_type();
  if (decoder.expect_operands(3))
    emit_words(decoder, s, wrap ? IntOp::kBmskWrap : IntOp::kBmskClamp, Type::kB32);
}

void decode_szext(Decoder& decoder, const Statement& s, Modifiers& m) {
  const bool wrap = m.take("wrap");
  m.take("clamp");
  const Type type = m.take_type();
  if (decoder.expect_operands(3)) emit_words(decoder, s, wrap ? IntOp::kSzextWrap : IntOp::kSzextClamp, type);
}

}  // namespace

std::vector<DecoderEntry> logic_decoders() {
  return {{"and", &decode_bitwise<IntOp::kAnd, &run_and_predicate>},
          {"or", &decode_bitwise<IntOp::kOr, &run_or_predicate>},
          {"xor", &decode_bitwise<IntOp::kXor, &run_xor_predicate>},
          {"not", &decode_one_source<IntOp::kNot>},
          {"cnot", &decode_one_source<IntOp::kCnot>},
          {"popc", &decode_one_source<IntOp::kPopc>},
          {"clz", &decode_one_source<IntOp::kClz>},
          {"brev", &decode_one_source<IntOp::kBrev>},
          {"bfind", &decode_bfind},
          {"shl", &decode_shift<IntOp::kShl>},
          {"shr", &decode_shift<IntOp::kShr>},
          {"shf", &decode_shf},
          {"bfe", &decode_bfe},
          {"bfi", &decode_bfi},
          {"lop3", &decode_lop3},
          {"prmt", &decode_prmt},
          {"bmsk", &decode_bmsk},
          {"szext", &decode_szext}};
}

}  // namespace moe4::ptx
