// cvt, cvta, isspacep.
#include <utility>

#include "gpu/ptx/decode/families.h"
#include "gpu/ptx/run/handlers.h"

namespace moe4::ptx {
namespace {

void take_rounding(Modifiers& m, Conversion* conversion) {
  constexpr std::pair<std::string_view, Rounding> kFloat[] = {
      {"rn", Rounding::kNearest}, {"rz", Rounding::kZero}, {"rm", Rounding::kDown}, {"rp", Rounding::kUp}};
  constexpr std::pair<std::string_view, Rounding> kIntegral[] = {{"rni", Rounding::kNearest},
                                                                 {"rzi", Rounding::kZero},
                                                                 {"rmi", Rounding::kDown},
                                                                 {"rpi", Rounding::kUp}};
  for (const auto& [name, rounding] : kFloat) {
    if (m.take(name)) conversion->rounding = rounding;
  }
  for (const auto& [name, rounding] : kIntegral) {
    if (!m.take(name)) continue;
    conversion->rounding = rounding;
    conversion->integral = true;
  }
}

// The integer type that reads a register of `bytes` as a value of `type`'s signedness.
Type integer_like(Type type, unsigned bytes) {
  constexpr Type kSigned[] = {Type::kS8, Type::kS16, Type::kS32, Type::kS64};
  constexpr Type kUnsigned[] = {Type::kU8, Type::kU16, Type::kU32, Type::kU64};
  const unsigned i = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
  return is_signed(type) ? kSigned[i] : kUnsigned[i];
}

// Brings a wider register down to the width of `type`.
Ref narrowed(Decoder& decoder, Ref value, unsigned bytes, Type type) {
  if (bytes == bytes_of(type)) return value;
  const Ref narrow = decoder.temporary(bytes_of(type));
  Instr& instr = decoder.emit(
      decoder.alu().convert(integer_like(Type::kU8, bytes_of(type)), integer_like(Type::kU8, bytes)), narrow,
      value);
  instr.guard = kTruePredicate;
  instr.guard_flip = 0;
  return narrow;
}

void decode_pair(Decoder& decoder, const Statement& s, Modifiers& m, Type to) {
  Conversion conversion;
  conversion.to = to;
  take_rounding(m, &conversion);
  conversion.relu = m.take("relu");
  conversion.ftz = m.take("ftz");
  conversion.from = m.take_type();
  if (!decoder.expect_operands(3)) return;
  if (conversion.from != Type::kF32 || conversion.ftz ||
      (conversion.rounding != Rounding::kNearest && conversion.rounding != Rounding::kZero)) {
    return decoder.unsupported("unsupported form of the instruction");
  }
  const Ref high = decoder.source(s.operands[1], Type::kF32), low = decoder.source(s.operands[2], Type::kF32);
  decoder.emit(&run_convert_pair, decoder.destination(s.operands[0], to), high, low, {}, encode(conversion));
}

bool lossless(Type to, Type from) {
  if (!is_float(to) || !is_float(from)) return false;
  return bytes_of(to) > bytes_of(from);
}

void decode_cvt(Decoder& decoder, const Statement& s, Modifiers& m) {
  const Type to = m.take_type();
  if (to == Type::kF16x2 || to == Type::kBF16x2) return decode_pair(decoder, s, m, to);
  Conversion conversion;
  conversion.to = to;
  conversion.from = m.take_type();
  take_rounding(m, &conversion);
  conversion.ftz = m.take("ftz");
  conversion.sat = m.take("sat");
  conversion.relu = m.take("relu");
  if (!decoder.expect_operands(2)) return;
  const Type from = conversion.from;
  if (bytes_of(to) == 0 || bytes_of(from) == 0 || from == Type::kF16x2 || from == Type::kBF16x2) {
    return decoder.unsupported("unsupported form of the instruction");
  }
  // What the ISA demands: a rounding where digits can be lost, none where they can't.
  const bool float_to = is_float(to), float_from = is_float(from);
  const bool needs_float = float_to && (!float_from || bytes_of(to) < bytes_of(from) ||
                                        (bytes_of(to) == 2 && bytes_of(from) == 2 && to != from));
  if (needs_float && (conversion.rounding == Rounding::kNone || conversion.integral)) {
    return decoder.unsupported("cvt needs .rn, .rz, .rm or .rp");
  }
  if (!float_to && float_from && !conversion.integral) {
    return decoder.unsupported("cvt needs .rni, .rzi, .rmi or .rpi");
  }
  if (!float_from && !float_to && conversion.rounding != Rounding::kNone) {
    return decoder.unsupported("cvt between integers takes no rounding");
  }
  if (lossless(to, from) && conversion.rounding != Rounding::kNone && !conversion.integral) {
    return decoder.unsupported("cvt to a wider type takes no rounding");
  }
  if (float_to && to == from && conversion.rounding != Rounding::kNone && !conversion.integral) {
    return decoder.unsupported("cvt to the same type takes an integral rounding only");
  }
  unsigned from_bytes = 0, to_bytes = 0;
  const Ref wide = decoder.wide_source(s.operands[1], from, &from_bytes);
  if (decoder.failed()) return;
  const Ref a = narrowed(decoder, wide, from_bytes, from);
  const Ref d = decoder.wide_destination(s.operands[0], to, &to_bytes);
  if (decoder.failed()) return;
  const bool widened = to_bytes != bytes_of(to);
  const Ref result = widened ? decoder.temporary(bytes_of(to)) : d;

  const bool plain = !conversion.ftz && !conversion.sat && !conversion.relu && !conversion.integral &&
                     (conversion.rounding == Rounding::kNone || conversion.rounding == Rounding::kNearest);
  const Handler quick = plain ? decoder.alu().convert(to, from) : nullptr;
  decoder.emit(quick ? quick : &run_convert, result, a, {}, {}, encode(conversion));
  if (widened) {
    decoder.emit(decoder.alu().convert(integer_like(to, to_bytes), integer_like(to, bytes_of(to))), d,
                 result);
  }
}

std::uint64_t window_of(std::string_view space) {
  if (space == "shared" || space == "shared::cta" || space == "shared::cluster") return kSharedWindow;
  if (space == "local") return kLocalWindow;
  if (space == "const") return kConstWindow;
  if (space == "param" || space == "param::entry") return kParamWindow;
  return 0;  // global addresses are generic ones
}

std::string_view take_space(Modifiers& m) {
  return m.take_one_of(
      {"global", "shared", "shared::cta", "shared::cluster", "local", "const", "param", "param::entry"});
}

void decode_cvta(Decoder& decoder, const Statement& s, Modifiers& m) {
  const bool to = m.take("to");
  const std::string_view space = take_space(m);
  const Type type = m.take_type();
  if (!decoder.expect_operands(2)) return;
  if (space.empty() || bytes_of(type) != 8) return decoder.unsupported("unsupported form of the instruction");
  const Ref a = decoder.source(s.operands[1], Type::kU64);
  const Ref d = decoder.destination(s.operands[0], Type::kU64);
  const std::uint64_t window = window_of(space);
  if (window == 0) {
    decoder.emit(decoder.alu().integer(IntOp::kMove, Type::kB64), d, a);
  } else {
    decoder.emit(decoder.alu().integer(to ? IntOp::kSub : IntOp::kAdd, Type::kU64), d, a,
                 decoder.constant(window, 8));
  }
}

void decode_isspacep(Decoder& decoder, const Statement& s, Modifiers& m) {
  const std::string_view space = take_space(m);
  if (!decoder.expect_operands(2)) return;
  if (space.empty()) return decoder.unsupported("unsupported form of the instruction");
  const Ref a = decoder.source(s.operands[1], Type::kU64);
  decoder.emit(&run_is_in_window, decoder.predicate_destination(s.operands[0]), a, {}, {},
               window_of(space) | (space == "shared::cluster" ? 1 : 0));
}

}  // namespace

std::vector<DecoderEntry> convert_decoders() {
  return {{"cvt", &decode_cvt}, {"cvta", &decode_cvta}, {"isspacep", &decode_isspacep}};
}

}  // namespace moe4::ptx
