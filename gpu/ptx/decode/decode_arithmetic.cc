// fma, div, rcp, sqrt, min, max, …: floating-point arithmetic.
#include "gpu/ptx/decode/families.h"
#include "gpu/ptx/run/handlers.h"

namespace moe4::ptx {
namespace {

bool is_half(Type type) {
  return type == Type::kF16 || type == Type::kBF16 || type == Type::kF16x2 || type == Type::kBF16x2;
}

Rounding take_rounding(Modifiers& m) {
  if (m.take("rn")) return Rounding::kNearest;
  if (m.take("rz")) return Rounding::kZero;
  if (m.take("rm")) return Rounding::kDown;
  if (m.take("rp")) return Rounding::kUp;
  return Rounding::kNone;
}

FloatMode take_mode(Modifiers& m) {
  FloatMode mode;
  mode.ftz = m.take("ftz");
  mode.sat = m.take("sat");
  mode.relu = m.take("relu");
  return mode;
}

// The handler for a type, rounding and mode; imm is what it wants there.
Handler handler_for(Decoder& decoder, FloatOp op, Type type, FloatMode mode, std::uint64_t* imm) {
  *imm = encode(mode);
  const bool nearest = mode.rounding == Rounding::kNone || mode.rounding == Rounding::kNearest;
  if (is_half(type)) return nearest ? decoder.alu().half(op, type, mode) : nullptr;
  if (nearest) return decoder.alu().floating(op, type, mode);
  return mode.relu ? nullptr : directed_handler(op, type, mode.rounding);
}

void emit_float(Decoder& decoder, const Statement& s, FloatOp op, Type type, FloatMode mode) {
  std::uint64_t imm = 0;
  const Handler handler = handler_for(decoder, op, type, mode, &imm);
  Ref sources[3];
  for (std::size_t i = 1; i < s.operands.size() && i < 4; ++i) {
    sources[i - 1] = decoder.source(s.operands[i], type);
  }
  decoder.emit(handler, decoder.destination(s.operands[0], type), sources[0], sources[1], sources[2], imm);
}

void decode_fma(Decoder& decoder, const Statement& s, Modifiers& m) {
  decode_float_arithmetic(decoder, s, m, FloatOp::kFma, 4);
}

// rcp, sqrt, rsqrt: .approx forms return one value that the ISA's bound allows, here the correctly rounded
// one.
template <FloatOp kOp>
void decode_root(Decoder& decoder, const Statement& s, Modifiers& m) {
  const Type type = m.take_type();
  FloatMode mode = take_mode(m);
  const bool approximate = m.take("approx");
  mode.rounding = take_rounding(m);
  if (!decoder.expect_operands(2)) return;
  if (approximate == (mode.rounding != Rounding::kNone)) {
    return decoder.unsupported("neither .approx nor a rounding, or both");
  }
  if (approximate) decoder.approximate();
  if (approximate && type == Type::kF64) {
    if (!mode.ftz || kOp == FloatOp::kSqrt) return decoder.unsupported("unsupported form of the instruction");
    const Ref a = decoder.source(s.operands[1], type);
    const Approximate op = kOp == FloatOp::kRcp ? Approximate::kRcp64 : Approximate::kRsqrt64;
    decoder.emit(approximate_handler(op, type), decoder.destination(s.operands[0], type), a);
    return;
  }
  if (mode.sat || mode.relu) return decoder.unsupported("unsupported form of the instruction");
  emit_float(decoder, s, kOp, type, mode);
}

template <Approximate kOp>
void decode_approximate(Decoder& decoder, const Statement& s, Modifiers& m) {
  const Type type = m.take_type();
  const FloatMode mode = take_mode(m);
  const bool approximate = m.take("approx");
  if (!decoder.expect_operands(2)) return;
  if (!approximate || mode.sat || mode.relu || type != Type::kF32)
    return decoder.unsupported("unsupported form of the instruction");
  decoder.approximate();
  const Ref a = decoder.source(s.operands[1], type);
  decoder.emit(approximate_handler(kOp, type), decoder.destination(s.operands[0], type), a, {}, {},
               encode(mode));
}

// testp.property.type p, a;
void decode_testp(Decoder& decoder, const Statement& s, Modifiers& m) {
  const Type type = m.take_type();
  const std::string_view property =
      m.take_one_of({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  if (!decoder.expect_operands(2)) return;
  if (property.empty() || (type != Type::kF32 && type != Type::kF64)) {
    return decoder.unsupported("unsupported form of the instruction");
  }
  const Ref a = decoder.source(s.operands[1], type);
  decoder.emit(&run_test_property, decoder.predicate_destination(s.operands[0]), a, {}, {},
               static_cast<std::uint64_t>(property_named(property)) | (bytes_of(type) << 8));
}

void decode_copysign(Decoder& decoder, const Statement& s, Modifiers& m) {
  const Type type = m.take_type();
  if (decoder.expect_operands(3)) emit_float(decoder, s, FloatOp::kCopysign, type, {});
}

}  // namespace

void decode_float_arithmetic(Decoder& decoder, const Statement& s, Modifiers& m, FloatOp op,
                             std::size_t operands) {
  const Type type = m.take_type();
  FloatMode mode = take_mode(m);
  mode.rounding = take_rounding(m);
  if (!decoder.expect_operands(operands)) return;
  if (op == FloatOp::kFma && mode.rounding == Rounding::kNone)
    return decoder.unsupported("fma needs a rounding");
  emit_float(decoder, s, op, type, mode);
}

void decode_float_division(Decoder& decoder, const Statement& s, Modifiers& m) {
  const Type type = m.take_type();
  FloatMode mode = take_mode(m);
  mode.rounding = take_rounding(m);
  const std::string_view form = m.take_one_of({"approx", "full"});
  const bool approximate = !form.empty();
  if (!decoder.expect_operands(3)) return;
  if (s.base != "div" || approximate == (mode.rounding != Rounding::kNone) ||
      (approximate && type != Type::kF32)) {
    return decoder.unsupported("unsupported form of the instruction");
  }
  if (approximate) decoder.approximate();
  if (form == "approx" && !mode.sat && !mode.relu) {
    const Ref a = decoder.source(s.operands[1], type), b = decoder.source(s.operands[2], type);
    decoder.emit(approximate_handler(Approximate::kDiv, type), decoder.destination(s.operands[0], type), a, b,
                 {}, encode(mode));
    return;
  }
  emit_float(decoder, s, FloatOp::kDiv, type, mode);
}

void decode_float_extreme(Decoder& decoder, const Statement& s, Modifiers& m, bool max) {
  const Type type = m.take_type();
  const FloatMode mode = take_mode(m);
  const bool nan = m.take("NaN");
  if (!decoder.expect_operands(3)) return;
  emit_float(decoder, s,
             max ? (nan ? FloatOp::kMaxNan : FloatOp::kMax) : (nan ? FloatOp::kMinNan : FloatOp::kMin), type,
             mode);
}

std::vector<DecoderEntry> arithmetic_decoders() {
  return {{"fma", &decode_fma},
          {"rcp", &decode_root<FloatOp::kRcp>},
          {"sqrt", &decode_root<FloatOp::kSqrt>},
          {"rsqrt", &decode_root<FloatOp::kRsqrt>},
          {"ex2", &decode_approximate<Approximate::kEx2>},
          {"lg2", &decode_approximate<Approximate::kLg2>},
          {"sin", &decode_approximate<Approximate::kSin>},
          {"cos", &decode_approximate<Approximate::kCos>},
          {"tanh", &decode_approximate<Approximate::kTanh>},
          {"copysign", &decode_copysign},
          {"testp", &decode_testp}};
}

}  // namespace moe4::ptx
