// setp, set, selp, slct.
#include <array>
#include <utility>

#include "gpu/ptx/decode/families.h"
#include "gpu/ptx/run/handlers.h"

namespace moe4::ptx {
namespace {

PredicateOp take_combination(Modifiers& m) {
  if (m.take("and")) return PredicateOp::kAnd;
  if (m.take("or")) return PredicateOp::kOr;
  if (m.take("xor")) return PredicateOp::kXor;
  return PredicateOp::kNone;
}

struct Comparison {
  Compare compare = Compare::kEq;
  PredicateTail tail;
  bool ftz = false;
  Ref c;
};

// What stands behind the two compared operands; the modifiers but for the types.
bool take_comparison(Decoder& decoder, const Statement& s, Modifiers& m, Comparison* result) {
  // ".and" and ".or" may only follow the comparison, which is taken first.
  if (!take_compare(m, &result->compare)) {
    decoder.unsupported("unknown comparison");
    return false;
  }
  result->tail.op = take_combination(m);
  result->ftz = m.take("ftz");
  const bool combined = result->tail.op != PredicateOp::kNone;
  if (!decoder.expect_operands(combined ? 4 : 3)) return false;
  if (combined) {
    result->c = decoder.predicate_source(s.operands[3]);
    result->tail.negated = s.operands[3].negated;
  }
  return true;
}

void emit_set_predicate(Decoder& decoder, const Comparison& comparison, Type type, Ref p, Ref a, Ref b) {
  decoder.emit(decoder.alu().set_predicate(comparison.compare, type, comparison.ftz), p, a, b, comparison.c,
               encode(comparison.tail));
}

// The two halves of a packed operand.
std::pair<Ref, Ref> halves(Decoder& decoder, Ref packed) {
  const Ref low = decoder.temporary(2), high = decoder.temporary(2);
  Instr& instr = decoder.emit(unpack_handler(2), {}, packed, {}, {}, 2);
  instr.guard = kTruePredicate;
  instr.guard_flip = 0;
  const std::uint32_t list = decoder.set_list({low, high}, {});
  decoder.function().code.back().aux = list;
  return {low, high};
}

Type half_of(Type packed) { return packed == Type::kF16x2 ? Type::kF16 : Type::kBF16; }
bool is_packed(Type type) { return type == Type::kF16x2 || type == Type::kBF16x2; }

void decode_setp(Decoder& decoder, const Statement& s, Modifiers& m) {
  Comparison comparison;
  if (!take_comparison(decoder, s, m, &comparison)) return;
  const Type type = m.take_type();
  const Ref a = decoder.source(s.operands[1], type), b = decoder.source(s.operands[2], type);
  const Ref p = decoder.predicate_destination(s.operands[0]);
  const Ref q = decoder.paired_destination(s.operands[0]);
  if (is_packed(type)) {
    const auto [a_low, a_high] = halves(decoder, a);
    const auto [b_low, b_high] = halves(decoder, b);
    // p may be the predicate that both halves are combined with: the upper half goes first.
    if (q.given()) {
      const Ref upper = decoder.temporary(0);
      emit_set_predicate(decoder, comparison, half_of(type), upper, a_high, b_high);
      emit_set_predicate(decoder, comparison, half_of(type), p, a_low, b_low);
      decoder.emit(&run_move_predicate, q, upper);
    } else {
      emit_set_predicate(decoder, comparison, half_of(type), p, a_low, b_low);
    }
    return;
  }
  emit_set_predicate(decoder, comparison, type, p, a, b);
  if (q.given()) decoder.write_e(q);
}

// The value of "true" in the destination type of set.
std::uint64_t true_value(Type type) {
  switch (type) {
    case Type::kF32:
      return 0x3f800000;
    case Type::kF16:
    case Type::kF16x2:
      return 0x3c00;
    case Type::kBF16:
    case Type::kBF16x2:
      return 0x3f80;
    default:
      return ~0ull;
  }
}

void decode_set(Decoder& decoder, const Statement& s, Modifiers& m) {
  Comparison comparison;
  if (!take_comparison(decoder, s, m, &comparison)) return;
  const Type to = m.take_type(), from = m.take_type();
  const Ref a = decoder.source(s.operands[1], from), b = decoder.source(s.operands[2], from);
  const auto emit_value = [&](Type type, unsigned bytes, Ref d, Ref x, Ref y) {
    const Ref p = decoder.temporary(0);
    emit_set_predicate(decoder, comparison, type, p, x, y);
    decoder.emit(decoder.alu().select(bytes), d, decoder.constant(true_value(to), bytes),
                 decoder.constant(0, bytes), p);
  };
  if (!is_packed(from)) {
    return emit_value(from, bytes_of(to), decoder.destination(s.operands[0], to), a, b);
  }
  if (bytes_of(to) != 4) return decoder.unsupported("unsupported form of the instruction");
  const auto [a_low, a_high] = halves(decoder, a);
  const auto [b_low, b_high] = halves(decoder, b);
  const Ref low = decoder.temporary(2), high = decoder.temporary(2);
  emit_value(half_of(from), 2, low, a_low, b_low);
  emit_value(half_of(from), 2, high, a_high, b_high);
  decoder.emit(pack_handler(2), decoder.destination(s.operands[0], to), {}, {}, {}, 2);
  decoder.function().code.back().aux = decoder.set_list({}, {low, high});
}

void decode_selp(Decoder& decoder, const Statement& s, Modifiers& m) {
  const Type type = m.take_type();
  if (!decoder.expect_operands(4)) return;
  if (type == Type::kPred) {
    const Ref a = decoder.predicate_source(s.operands[1]), b = decoder.predicate_source(s.operands[2]);
    decoder.emit(&run_select_predicate, decoder.predicate_destination(s.operands[0]), a, b,
                 decoder.predicate_source(s.operands[3]));
    return;
  }
  const Ref a = decoder.source(s.operands[1], type), b = decoder.source(s.operands[2], type);
  const Ref c = decoder.predicate_source(s.operands[3]);
  decoder.emit(decoder.alu().select(bytes_of(type)), decoder.destination(s.operands[0], type), a, b, c,
               s.operands[3].negated ? kAllLanes : 0);
}

// slct.type.ctype d, a, b, c: a where c >= 0.
void decode_slct(Decoder& decoder, const Statement& s, Modifiers& m) {
  const bool ftz = m.take("ftz");
  const Type type = m.take_type(), by = m.take_type();
  if (!decoder.expect_operands(4)) return;
  if (by != Type::kS32 && by != Type::kF32) return decoder.unsupported("unsupported form of the instruction");
  const Ref a = decoder.source(s.operands[1], type), b = decoder.source(s.operands[2], type);
  const Ref c = decoder.source(s.operands[3], by);
  const Ref p = decoder.temporary(0);
  decoder.emit(decoder.alu().set_predicate(Compare::kGe, by, ftz), p, c, decoder.constant(0, 4));
  decoder.emit(decoder.alu().select(bytes_of(type)), decoder.destination(s.operands[0], type), a, b, p);
}

}  // namespace

bool take_compare(Modifiers& m, Compare* compare) {
  constexpr std::array<std::pair<std::string_view, Compare>, 18> kNames{{
      {"eq", Compare::kEq},
      {"ne", Compare::kNe},
      {"lt", Compare::kLt},
      {"le", Compare::kLe},
      {"gt", Compare::kGt},
      {"ge", Compare::kGe},
      {"lo", Compare::kLt},
      {"ls", Compare::kLe},
      {"hi", Compare::kGt},
      {"hs", Compare::kGe},
      {"equ", Compare::kEqu},
      {"neu", Compare::kNeu},
      {"ltu", Compare::kLtu},
      {"leu", Compare::kLeu},
      {"gtu", Compare::kGtu},
      {"geu", Compare::kGeu},
      {"num", Compare::kNum},
      {"nan", Compare::kNan},
  }};
  for (const auto& [name, value] : kNames) {
    if (!m.take(name)) continue;
    *compare = value;
    return true;
  }
  return false;
}

std::vector<DecoderEntry> compare_decoders() {
  return {{"setp", &decode_setp}, {"set", &decode_set}, {"selp", &decode_selp}, {"slct", &decode_slct}};
}

}  // namespace moe4::ptx
