// add … dp2a: arithmetic on integers. Floating-point forms of the shared names go to decode_arithmetic.cc.
#include <algorithm>

#include "gpu/ptx/decode/families.h"
#include "gpu/ptx/run/handlers.h"

namespace moe4::ptx {
namespace {

void emit_plain(Decoder& decoder, const Statement& s, IntOp op, Type type, Type result,
                std::uint64_t imm = 0) {
  std::vector<Ref> sources;
  for (std::size_t i = 1; i < s.operands.size(); ++i) sources.push_back(decoder.source(s.operands[i], type));
  sources.resize(3);
  const Ref d = decoder.destination(s.operands[0], result);
  decoder.emit(decoder.alu().integer(op, type), d, sources[0], sources[1], sources[2], imm);
}

Type wide(Type type) {
  switch (type) {
    case Type::kU16:
      return Type::kU32;
    case Type::kS16:
      return Type::kS32;
    case Type::kU32:
      return Type::kU64;
    case Type::kS32:
      return Type::kS64;
    default:
      return Type::kNone;
  }
}

bool is_half(Type type) { return bytes_of(type) == 2 || type == Type::kF16x2 || type == Type::kBF16x2; }

void decode_carry(Decoder& decoder, const Statement& s, Modifiers& m, CarryOp op, bool in,
                  std::size_t operands) {
  const bool out = m.take("cc");
  const Type type = m.take_type();
  if (!decoder.expect_operands(operands)) return;
  Ref sources[3];
  for (std::size_t i = 1; i < operands; ++i) sources[i - 1] = decoder.source(s.operands[i], type);
  decoder.emit(carry_handler(op, type), decoder.destination(s.operands[0], type), sources[0], sources[1],
               sources[2], (in ? 1u : 0u) | (out ? 2u : 0u));
}

// add and sub.
template <bool kSub>
void decode_add(Decoder& decoder, const Statement& s, Modifiers& m) {
  if (m.all().size() > 0 && std::find(m.all().begin(), m.all().end(), "cc") != m.all().end()) {
    return decode_carry(decoder, s, m, kSub ? CarryOp::kSub : CarryOp::kAdd, false, 3);
  }
  const Type type = leading_type(m);
  if (is_float(type)) return decode_float_arithmetic(decoder, s, m, kSub ? FloatOp::kSub : FloatOp::kAdd, 3);
  if (m.take("u16x2") || m.take("s16x2")) {
    if (kSub || !decoder.expect_operands(3))
      return decoder.unsupported("unsupported form of the instruction");
    return emit_plain(decoder, s, IntOp::kAdd2, Type::kB32, Type::kB32);
  }
  m.take_type();
  const bool sat = m.take("sat");
  if (!decoder.expect_operands(3)) return;
  const IntOp op = sat ? (kSub ? IntOp::kSubSat : IntOp::kAddSat) : (kSub ? IntOp::kSub : IntOp::kAdd);
  emit_plain(decoder, s, op, type, type);
}

template <bool kSub>
void decode_add_carry(Decoder& decoder, const Statement& s, Modifiers& m) {
  decode_carry(decoder, s, m, kSub ? CarryOp::kSub : CarryOp::kAdd, true, 3);
}

void decode_mul(Decoder& decoder, const Statement& s, Modifiers& m) {
  const Type type = leading_type(m);
  if (is_float(type)) return decode_float_arithmetic(decoder, s, m, FloatOp::kMul, 3);
  m.take_type();
  if (!decoder.expect_operands(3)) return;
  if (m.take("wide")) return emit_plain(decoder, s, IntOp::kMulWide, type, wide(type));
  if (m.take("hi")) return emit_plain(decoder, s, IntOp::kMulHi, type, type);
  if (m.take("lo")) return emit_plain(decoder, s, IntOp::kMulLo, type, type);
  decoder.unsupported("mul without .lo, .hi or .wide");
}

void decode_mul24(Decoder& decoder, const Statement& s, Modifiers& m) {
  const Type type = m.take_type();
  if (!decoder.expect_operands(3)) return;
  const bool high = m.take("hi");
  m.take("lo");
  emit_plain(decoder, s, high ? IntOp::kMulHi24 : IntOp::kMul24, type, type);
}

void decode_mad24(Decoder& decoder, const Statement& s, Modifiers& m) {
  const Type type = m.take_type();
  if (!decoder.expect_operands(4)) return;
  m.take("lo");
  emit_plain(decoder, s, IntOp::kMad24, type, type);
}

void decode_mad(Decoder& decoder, const Statement& s, Modifiers& m) {
  const Type type = leading_type(m);
  if (is_float(type)) return decode_float_arithmetic(decoder, s, m, FloatOp::kFma, 4);
  const bool high = m.take("hi");
  if (std::find(m.all().begin(), m.all().end(), "cc") != m.all().end()) {
    m.take("lo");
    return decode_carry(decoder, s, m, high ? CarryOp::kMadHi : CarryOp::kMadLo, false, 4);
  }
  m.take_type();
  if (!decoder.expect_operands(4)) return;
  if (high) return emit_plain(decoder, s, m.take("sat") ? IntOp::kMadHiSat : IntOp::kMadHi, type, type);
  if (m.take("lo")) return emit_plain(decoder, s, IntOp::kMadLo, type, type);
  if (!m.take("wide")) return decoder.unsupported("mad without .lo, .hi or .wide");
  const Ref a = decoder.source(s.operands[1], type), b = decoder.source(s.operands[2], type);
  const Ref c = decoder.source(s.operands[3], wide(type));
  decoder.emit(decoder.alu().integer(IntOp::kMadWide, type), decoder.destination(s.operands[0], wide(type)),
               a, b, c);
}

void decode_madc(Decoder& decoder, const Statement& s, Modifiers& m) {
  const bool high = m.take("hi");
  m.take("lo");
  decode_carry(decoder, s, m, high ? CarryOp::kMadHi : CarryOp::kMadLo, true, 4);
}

template <bool kRem>
void decode_div(Decoder& decoder, const Statement& s, Modifiers& m) {
  const Type type = leading_type(m);
  if (is_float(type)) return decode_float_division(decoder, s, m);
  m.take_type();
  if (!decoder.expect_operands(3)) return;
  const Ref a = decoder.source(s.operands[1], type), b = decoder.source(s.operands[2], type);
  // Only a divisor in a register can be zero unnoticed.
  if (s.operands[2].kind == OperandKind::kRegister) {
    decoder.emit(&run_division_check, {}, b, {}, {}, bytes_of(type));
  }
  decoder.emit(decoder.alu().integer(kRem ? IntOp::kRem : IntOp::kDiv, type),
               decoder.destination(s.operands[0], type), a, b);
}

template <bool kMax>
void decode_min(Decoder& decoder, const Statement& s, Modifiers& m) {
  for (const std::string_view pair : {"u16x2", "s16x2"}) {
    if (!m.take(pair)) continue;
    if (!decoder.expect_operands(3)) return;
    const Ref a = decoder.source(s.operands[1], Type::kB32), b = decoder.source(s.operands[2], Type::kB32);
    decoder.emit(
        decoder.alu().integer(kMax ? IntOp::kMax2 : IntOp::kMin2, pair[0] == 's' ? Type::kS16 : Type::kU16),
        decoder.destination(s.operands[0], Type::kB32), a, b);
    return;
  }
  const Type type = leading_type(m);
  if (is_float(type)) return decode_float_extreme(decoder, s, m, kMax);
  m.take_type();
  if (!decoder.expect_operands(3)) return;
  emit_plain(decoder, s, kMax ? IntOp::kMax : IntOp::kMin, type, type);
}

template <IntOp kOp, FloatOp kFloat>
void decode_sign(Decoder& decoder, const Statement& s, Modifiers& m) {
  const Type type = m.take_type();
  if (!decoder.expect_operands(2)) return;
  if (!is_float(type)) {
    if (!is_signed(type)) return decoder.unsupported("unsupported form of the instruction");
    return emit_plain(decoder, s, kOp, type, type);
  }
  FloatMode mode;
  mode.ftz = m.take("ftz");
  const Ref a = decoder.source(s.operands[1], type);
  decoder.emit(
      is_half(type) ? decoder.alu().half(kFloat, type, mode) : decoder.alu().floating(kFloat, type, mode),
      decoder.destination(s.operands[0], type), a);
}

void decode_sad(Decoder& decoder, const Statement& s, Modifiers& m) {
  const Type type = m.take_type();
  if (decoder.expect_operands(4)) emit_plain(decoder, s, IntOp::kSad, type, type);
}

// dp4a.atype.btype and dp2a.mode.atype.btype.
template <bool kFour>
void decode_dot(Decoder& decoder, const Statement& s, Modifiers& m) {
  const Type a = m.take_type(), b = m.take_type();
  const bool high = m.take("hi");
  if (!kFour) m.take("lo");
  if (!decoder.expect_operands(4)) return;
  if (bytes_of(a) != 4 || bytes_of(b) != 4) return decoder.unsupported("unsupported form of the instruction");
  const int signs = (is_signed(a) ? 2 : 0) + (is_signed(b) ? 1 : 0);
  constexpr IntOp kFourOps[] = {IntOp::kDp4aUU, IntOp::kDp4aUS, IntOp::kDp4aSU, IntOp::kDp4aSS};
  constexpr IntOp kTwoOps[] = {IntOp::kDp2aUU, IntOp::kDp2aUS, IntOp::kDp2aSU, IntOp::kDp2aSS};
  emit_plain(decoder, s, kFour ? kFourOps[signs] : kTwoOps[signs], Type::kB32, Type::kB32, high ? 1 : 0);
}

}  // namespace

Type leading_type(const Modifiers& m) {
  for (const std::string_view word : m.all()) {
    if (const auto type = type_named(word)) return *type;
  }
  return Type::kNone;
}

std::vector<DecoderEntry> integer_decoders() {
  return {{"add", &decode_add<false>},
          {"sub", &decode_add<true>},
          {"addc", &decode_add_carry<false>},
          {"subc", &decode_add_carry<true>},
          {"mul", &decode_mul},
          {"mul24", &decode_mul24},
          {"mad", &decode_mad},
          {"madc", &decode_madc},
          {"mad24", &decode_mad24},
          {"div", &decode_div<false>},
          {"rem", &decode_div<true>},
          {"min", &decode_min<false>},
          {"max", &decode_min<true>},
          {"abs", &decode_sign<IntOp::kAbs, FloatOp::kAbs>},
          {"neg", &decode_sign<IntOp::kNeg, FloatOp::kNeg>},
          {"sad", &decode_sad},
          {"dp4a", &decode_dot<true>},
          {"dp2a", &decode_dot<false>}};
}

}  // namespace moe4::ptx
