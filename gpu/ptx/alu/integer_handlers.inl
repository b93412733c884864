// Which loop runs an integer instruction of a given type, for one host instruction set.

template <template <class> class Op>
Handler same_width_unary(Type type) {
  switch (type) {
    case Type::kB16:
    case Type::kU16:
      return &unary<Op<std::uint16_t>, std::uint16_t, std::uint16_t>;
    case Type::kB32:
    case Type::kU32:
      return &unary<Op<std::uint32_t>, std::uint32_t, std::uint32_t>;
    case Type::kB64:
    case Type::kU64:
      return &unary<Op<std::uint64_t>, std::uint64_t, std::uint64_t>;
    case Type::kS16:
      return &unary<Op<std::int16_t>, std::int16_t, std::int16_t>;
    case Type::kS32:
      return &unary<Op<std::int32_t>, std::int32_t, std::int32_t>;
    case Type::kS64:
      return &unary<Op<std::int64_t>, std::int64_t, std::int64_t>;
    default:
      return nullptr;
  }
}
template <template <class> class Op>
Handler counting_unary(Type type) {
  switch (type) {
    case Type::kB32:
    case Type::kU32:
      return &unary<Op<std::uint32_t>, std::uint32_t, std::uint32_t>;
    case Type::kB64:
    case Type::kU64:
      return &unary<Op<std::uint64_t>, std::uint32_t, std::uint64_t>;
    default:
      return nullptr;
  }
}
template <template <class> class Op>
Handler finding_unary(Type type) {
  switch (type) {
    case Type::kS32:
      return &unary<Op<std::int32_t>, std::uint32_t, std::int32_t>;
    case Type::kS64:
      return &unary<Op<std::int64_t>, std::uint32_t, std::int64_t>;
    default:
      return counting_unary<Op>(type);
  }
}
template <template <class> class Op>
Handler same_width_binary(Type type) {
  switch (type) {
    case Type::kB16:
    case Type::kU16:
      return &binary<Op<std::uint16_t>, std::uint16_t, std::uint16_t, std::uint16_t>;
    case Type::kB32:
    case Type::kU32:
      return &binary<Op<std::uint32_t>, std::uint32_t, std::uint32_t, std::uint32_t>;
    case Type::kB64:
    case Type::kU64:
      return &binary<Op<std::uint64_t>, std::uint64_t, std::uint64_t, std::uint64_t>;
    case Type::kS16:
      return &binary<Op<std::int16_t>, std::int16_t, std::int16_t, std::int16_t>;
    case Type::kS32:
      return &binary<Op<std::int32_t>, std::int32_t, std::int32_t, std::int32_t>;
    case Type::kS64:
      return &binary<Op<std::int64_t>, std::int64_t, std::int64_t, std::int64_t>;
    default:
      return nullptr;
  }
}
template <template <class> class Op>
Handler shifting_binary(Type type) {
  switch (type) {
    case Type::kB16:
    case Type::kU16:
      return &binary<Op<std::uint16_t>, std::uint16_t, std::uint16_t, std::uint32_t>;
    case Type::kB32:
    case Type::kU32:
      return &binary<Op<std::uint32_t>, std::uint32_t, std::uint32_t, std::uint32_t>;
    case Type::kB64:
    case Type::kU64:
      return &binary<Op<std::uint64_t>, std::uint64_t, std::uint64_t, std::uint32_t>;
    case Type::kS16:
      return &binary<Op<std::int16_t>, std::int16_t, std::int16_t, std::uint32_t>;
    case Type::kS32:
      return &binary<Op<std::int32_t>, std::int32_t, std::int32_t, std::uint32_t>;
    case Type::kS64:
      return &binary<Op<std::int64_t>, std::int64_t, std::int64_t, std::uint32_t>;
    default:
      return nullptr;
  }
}
template <template <class> class Op>
Handler widening_binary(Type type) {
  switch (type) {
    case Type::kU16:
      return &binary<Op<std::uint16_t>, std::uint32_t, std::uint16_t, std::uint16_t>;
    case Type::kS16:
      return &binary<Op<std::int16_t>, std::int32_t, std::int16_t, std::int16_t>;
    case Type::kU32:
      return &binary<Op<std::uint32_t>, std::uint64_t, std::uint32_t, std::uint32_t>;
    case Type::kS32:
      return &binary<Op<std::int32_t>, std::int64_t, std::int32_t, std::int32_t>;
    default:
      return nullptr;
  }
}
template <template <class> class Op>
Handler same_width_ternary(Type type) {
  switch (type) {
    case Type::kU16:
      return &ternary<Op<std::uint16_t>, std::uint16_t, std::uint16_t, std::uint16_t, std::uint16_t>;
    case Type::kS16:
      return &ternary<Op<std::int16_t>, std::int16_t, std::int16_t, std::int16_t, std::int16_t>;
    case Type::kU32:
      return &ternary<Op<std::uint32_t>, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
    case Type::kS32:
      return &ternary<Op<std::int32_t>, std::int32_t, std::int32_t, std::int32_t, std::int32_t>;
    case Type::kU64:
      return &ternary<Op<std::uint64_t>, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;
    case Type::kS64:
      return &ternary<Op<std::int64_t>, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
    default:
      return nullptr;
  }
}
template <template <class> class Op>
Handler widening_ternary(Type type) {
  switch (type) {
    case Type::kU16:
      return &ternary<Op<std::uint16_t>, std::uint32_t, std::uint16_t, std::uint16_t, std::uint32_t>;
    case Type::kS16:
      return &ternary<Op<std::int16_t>, std::int32_t, std::int16_t, std::int16_t, std::int32_t>;
    case Type::kU32:
      return &ternary<Op<std::uint32_t>, std::uint64_t, std::uint32_t, std::uint32_t, std::uint64_t>;
    case Type::kS32:
      return &ternary<Op<std::int32_t>, std::int64_t, std::int32_t, std::int32_t, std::int64_t>;
    default:
      return nullptr;
  }
}
template <class Op>
Handler words_ternary() {
  return &ternary<Op, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
}
template <class Op>
Handler words_binary() {
  return &binary<Op, std::uint32_t, std::uint32_t, std::uint32_t>;
}
template <template <class> class Op>
Handler only_32(Type type) {
  if (type == Type::kU32) return &binary<Op<std::uint32_t>, std::uint32_t, std::uint32_t, std::uint32_t>;
  if (type == Type::kS32) return &binary<Op<std::int32_t>, std::int32_t, std::int32_t, std::int32_t>;
  return nullptr;
}

Handler bitfield_extract(Type type) {
  switch (type) {
    case Type::kU32:
      return &ternary<Bfe<std::uint32_t>, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
    case Type::kS32:
      return &ternary<Bfe<std::int32_t>, std::int32_t, std::int32_t, std::uint32_t, std::uint32_t>;
    case Type::kU64:
      return &ternary<Bfe<std::uint64_t>, std::uint64_t, std::uint64_t, std::uint32_t, std::uint32_t>;
    case Type::kS64:
      return &ternary<Bfe<std::int64_t>, std::int64_t, std::int64_t, std::uint32_t, std::uint32_t>;
    default:
      return nullptr;
  }
}

template <template <class> class Op>
Handler pairs(bool is_signed) {
  if (is_signed) return &binary<Op<std::int16_t>, std::int16_t, std::int16_t, std::int16_t, 2>;
  return &binary<Op<std::uint16_t>, std::uint16_t, std::uint16_t, std::uint16_t, 2>;
}

// Four sources: a, b, c and, in the field e, the length.
template <class T>
MOE4_TARGET void insert_field(Warp& warp, const Instr& in, LaneMask mask) {
  Lane<T>* d = at<T>(warp, in.d);
  const Lane<T>* a = at<T>(warp, in.a);
  const Lane<T>* b = at<T>(warp, in.b);
  const Lane<std::uint32_t>* position = at<std::uint32_t>(warp, in.c);
  const Lane<std::uint32_t>* length = at<std::uint32_t>(warp, in.e);
#pragma omp simd
  for (unsigned i = 0; i < kLanes; ++i) {
    const T result = Bfi<T>::apply(a[i], b[i], position[i], length[i]);
    d[i] = (mask >> i) & 1 ? result : d[i];
  }
}

Handler integer_handler(IntOp op, Type type) {
  const bool u32 = type == Type::kU32 || type == Type::kB32;
  const bool s32 = type == Type::kS32;
  switch (op) {
    case IntOp::kMove:
      return same_width_unary<Move>(type);
    case IntOp::kNot:
      return same_width_unary<Not>(type);
    case IntOp::kCnot:
      return same_width_unary<Cnot>(type);
    case IntOp::kNeg:
      return same_width_unary<Neg>(type);
    case IntOp::kAbs:
      return same_width_unary<Abs>(type);
    case IntOp::kPopc:
      return counting_unary<Popc>(type);
    case IntOp::kClz:
      return counting_unary<Clz>(type);
    case IntOp::kBrev:
      if (u32) return &unary<Brev<std::uint32_t>, std::uint32_t, std::uint32_t>;
      return type == Type::kB64 ? &unary<Brev<std::uint64_t>, std::uint64_t, std::uint64_t> : nullptr;
    case IntOp::kBfind:
      return finding_unary<Bfind>(type);
    case IntOp::kBfindShift:
      return finding_unary<BfindShift>(type);
    case IntOp::kAdd:
      return same_width_binary<Add>(type);
    case IntOp::kSub:
      return same_width_binary<Sub>(type);
    case IntOp::kMulLo:
      return same_width_binary<MulLo>(type);
    case IntOp::kMulHi:
      return same_width_binary<MulHi>(type);
    case IntOp::kMulWide:
      return widening_binary<MulWide>(type);
    case IntOp::kDiv:
      return same_width_binary<Div>(type);
    case IntOp::kRem:
      return same_width_binary<Rem>(type);
    case IntOp::kMin:
      return same_width_binary<Min>(type);
    case IntOp::kMax:
      return same_width_binary<Max>(type);
    case IntOp::kAnd:
      return same_width_binary<And>(type);
    case IntOp::kOr:
      return same_width_binary<Or>(type);
    case IntOp::kXor:
      return same_width_binary<Xor>(type);
    case IntOp::kShl:
      return shifting_binary<Shl>(type);
    case IntOp::kShr:
      return shifting_binary<Shr>(type);
    case IntOp::kAddSat:
      return s32 ? &binary<AddSat, std::int32_t, std::int32_t, std::int32_t> : nullptr;
    case IntOp::kSubSat:
      return s32 ? &binary<SubSat, std::int32_t, std::int32_t, std::int32_t> : nullptr;
    case IntOp::kMul24:
      return only_32<Mul24>(type);
    case IntOp::kMulHi24:
      return only_32<MulHi24>(type);
    case IntOp::kMadLo:
      return same_width_ternary<MadLo>(type);
    case IntOp::kMadHi:
      return same_width_ternary<MadHi>(type);
    case IntOp::kMadWide:
      return widening_ternary<MadWide>(type);
    case IntOp::kMadHiSat:
      return s32 ? &ternary<MadHiSat, std::int32_t, std::int32_t, std::int32_t, std::int32_t> : nullptr;
    case IntOp::kMad24:
      if (s32) return &ternary<Mad24<std::int32_t>, std::int32_t, std::int32_t, std::int32_t, std::int32_t>;
      return u32 ? words_ternary<Mad24<std::uint32_t>>() : nullptr;
    case IntOp::kSad:
      return same_width_ternary<Sad>(type);
    case IntOp::kBfe:
      return bitfield_extract(type);
    case IntOp::kBfi:
      if (u32) return &insert_field<std::uint32_t>;
      return type == Type::kB64 ? &insert_field<std::uint64_t> : nullptr;
    case IntOp::kShfLeftClamp:
      return words_ternary<Shf<true, false>>();
    case IntOp::kShfLeftWrap:
      return words_ternary<Shf<true, true>>();
    case IntOp::kShfRightClamp:
      return words_ternary<Shf<false, false>>();
    case IntOp::kShfRightWrap:
      return words_ternary<Shf<false, true>>();
    case IntOp::kLop3:
      return words_ternary<Lop3>();
    case IntOp::kPrmt:
      return words_ternary<Prmt>();
    case IntOp::kDp4aUU:
      return words_ternary<Dp4a<false, false>>();
    case IntOp::kDp4aUS:
      return words_ternary<Dp4a<false, true>>();
    case IntOp::kDp4aSU:
      return words_ternary<Dp4a<true, false>>();
    case IntOp::kDp4aSS:
      return words_ternary<Dp4a<true, true>>();
    case IntOp::kDp2aUU:
      return words_ternary<Dp2a<false, false>>();
    case IntOp::kDp2aUS:
      return words_ternary<Dp2a<false, true>>();
    case IntOp::kDp2aSU:
      return words_ternary<Dp2a<true, false>>();
    case IntOp::kDp2aSS:
      return words_ternary<Dp2a<true, true>>();
    case IntOp::kBmskClamp:
      return words_binary<Bmsk<false>>();
    case IntOp::kBmskWrap:
      return words_binary<Bmsk<true>>();
    case IntOp::kSzextClamp:
      return s32 ? words_binary<Szext<std::int32_t, false>>() : words_binary<Szext<std::uint32_t, false>>();
    case IntOp::kSzextWrap:
      return s32 ? words_binary<Szext<std::int32_t, true>>() : words_binary<Szext<std::uint32_t, true>>();
    case IntOp::kAdd2:
      return pairs<Add>(false);
    case IntOp::kMin2:
      return pairs<Min>(is_signed(type));
    case IntOp::kMax2:
      return pairs<Max>(is_signed(type));
    default:
      return nullptr;
  }
}

template <class T>
MOE4_TARGET void select_lanes(Warp& warp, const Instr& in, LaneMask mask) {
  Lane<T>* d = at<T>(warp, in.d);
  const Lane<T>* a = at<T>(warp, in.a);
  const Lane<T>* b = at<T>(warp, in.b);
  const LaneMask choice = warp.predicates[in.c] ^ static_cast<LaneMask>(in.imm);
#pragma omp simd
  for (unsigned i = 0; i < kLanes; ++i) {
    const T picked = (choice >> i) & 1 ? a[i] : b[i];
    d[i] = (mask >> i) & 1 ? picked : d[i];
  }
}

Handler select_handler(unsigned bytes) {
  switch (bytes) {
    case 2:
      return &select_lanes<std::uint16_t>;
    case 4:
      return &select_lanes<std::uint32_t>;
    case 8:
      return &select_lanes<std::uint64_t>;
    default:
      return nullptr;
  }
}
