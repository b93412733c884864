// setp, for one host instruction set.

template <Compare kOp, class T>
struct Holds {
  static MOE4_INLINE bool apply(T a, T b) {
    const bool nan = a != a || b != b;  // never for integers
    switch (kOp) {
      case Compare::kEq:
        return a == b;
      case Compare::kNe:
        return !nan && a != b;
      case Compare::kLt:
        return a < b;
      case Compare::kLe:
        return a <= b;
      case Compare::kGt:
        return a > b;
      case Compare::kGe:
        return a >= b;
      case Compare::kEqu:
        return nan || a == b;
      case Compare::kNeu:
        return nan || a != b;
      case Compare::kLtu:
        return nan || a < b;
      case Compare::kLeu:
        return nan || a <= b;
      case Compare::kGtu:
        return nan || a > b;
      case Compare::kGeu:
        return nan || a >= b;
      case Compare::kNum:
        return !nan;
      case Compare::kNan:
        return nan;
    }
    return false;
  }
};
template <Compare kOp>
struct HoldsFlushed {
  static MOE4_INLINE bool apply(float a, float b) { return Holds<kOp, float>::apply(flush(a), flush(b)); }
};
template <Compare kOp>
struct HoldsF16 {
  static MOE4_INLINE bool apply(std::uint16_t a, std::uint16_t b) {
    return Holds<kOp, double>::apply(f16_value(a), f16_value(b));
  }
};
template <Compare kOp>
struct HoldsBF16 {
  static MOE4_INLINE bool apply(std::uint16_t a, std::uint16_t b) {
    return Holds<kOp, float>::apply(bf16_value(a), bf16_value(b));
  }
};

// d = (a cmp b) op c, e = !(a cmp b) op c.
template <class Op, class T>
MOE4_TARGET void set_predicate(Warp& warp, const Instr& in, LaneMask mask) {
  const LaneMask holds = compare_lanes<Op, T>(warp, in);
  LaneMask d = holds, e = ~holds;
  const LaneMask c = warp.predicates[in.c] ^ (in.imm & 16 ? kAllLanes : 0u);
  switch (static_cast<PredicateOp>(in.imm & 15)) {
    case PredicateOp::kNone:
      break;
    case PredicateOp::kAnd:
      d &= c, e &= c;
      break;
    case PredicateOp::kOr:
      d |= c, e |= c;
      break;
    case PredicateOp::kXor:
      d ^= c, e ^= c;
      break;
  }
  LaneMask* predicates = warp.predicates;
  predicates[in.d] = (predicates[in.d] & ~mask) | (d & mask);
  if (in.e != 0) predicates[in.e] = (predicates[in.e] & ~mask) | (e & mask);
}

template <Compare kOp>
Handler predicate_handler_of(Type type, bool ftz) {
  switch (type) {
    case Type::kB16:
    case Type::kU16:
      return &set_predicate<Holds<kOp, std::uint16_t>, std::uint16_t>;
    case Type::kB32:
    case Type::kU32:
      return &set_predicate<Holds<kOp, std::uint32_t>, std::uint32_t>;
    case Type::kB64:
    case Type::kU64:
      return &set_predicate<Holds<kOp, std::uint64_t>, std::uint64_t>;
    case Type::kS16:
      return &set_predicate<Holds<kOp, std::int16_t>, std::int16_t>;
    case Type::kS32:
      return &set_predicate<Holds<kOp, std::int32_t>, std::int32_t>;
    case Type::kS64:
      return &set_predicate<Holds<kOp, std::int64_t>, std::int64_t>;
    case Type::kF32:
      return ftz ? &set_predicate<HoldsFlushed<kOp>, float> : &set_predicate<Holds<kOp, float>, float>;
    case Type::kF64:
      return &set_predicate<Holds<kOp, double>, double>;
    case Type::kF16:
      return &set_predicate<HoldsF16<kOp>, std::uint16_t>;
    case Type::kBF16:
      return &set_predicate<HoldsBF16<kOp>, std::uint16_t>;
    default:
      return nullptr;
  }
}

Handler predicate_handler(Compare op, Type type, bool ftz) {
  switch (op) {
    case Compare::kEq:
      return predicate_handler_of<Compare::kEq>(type, ftz);
    case Compare::kNe:
      return predicate_handler_of<Compare::kNe>(type, ftz);
    case Compare::kLt:
      return predicate_handler_of<Compare::kLt>(type, ftz);
    case Compare::kLe:
      return predicate_handler_of<Compare::kLe>(type, ftz);
    case Compare::kGt:
      return predicate_handler_of<Compare::kGt>(type, ftz);
    case Compare::kGe:
      return predicate_handler_of<Compare::kGe>(type, ftz);
    default:
      break;
  }
  if (is_integer(type)) return nullptr;
  switch (op) {
    case Compare::kEqu:
      return predicate_handler_of<Compare::kEqu>(type, ftz);
    case Compare::kNeu:
      return predicate_handler_of<Compare::kNeu>(type, ftz);
    case Compare::kLtu:
      return predicate_handler_of<Compare::kLtu>(type, ftz);
    case Compare::kLeu:
      return predicate_handler_of<Compare::kLeu>(type, ftz);
    case Compare::kGtu:
      return predicate_handler_of<Compare::kGtu>(type, ftz);
    case Compare::kGeu:
      return predicate_handler_of<Compare::kGeu>(type, ftz);
    case Compare::kNum:
      return predicate_handler_of<Compare::kNum>(type, ftz);
    case Compare::kNan:
      return predicate_handler_of<Compare::kNan>(type, ftz);
    default:
      return nullptr;
  }
}
