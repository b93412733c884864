// Integer instructions, for one host instruction set.

template <class T>
using Signed = std::make_signed_t<T>;
template <class T>
using Unsigned = std::make_unsigned_t<T>;
template <class T>
inline constexpr unsigned kBits = sizeof(T) * 8;

template <class T>
struct WideOf;
template <>
struct WideOf<std::uint16_t> {
  using type = std::uint32_t;
};
template <>
struct WideOf<std::int16_t> {
  using type = std::int32_t;
};
template <>
struct WideOf<std::uint32_t> {
  using type = std::uint64_t;
};
template <>
struct WideOf<std::int32_t> {
  using type = std::int64_t;
};
template <>
struct WideOf<std::uint64_t> {
  using type = unsigned __int128;
};
template <>
struct WideOf<std::int64_t> {
  using type = __int128;
};
template <class T>
using Wide = typename WideOf<T>::type;

// Wrapping arithmetic is done in the unsigned type, of at least int's width.
template <class T>
using Work = std::conditional_t<(sizeof(T) < 4), std::uint32_t, Unsigned<T>>;

template <class T>
struct Move {
  static MOE4_INLINE T apply(T a) { return a; }
};
template <class T>
struct Not {
  static MOE4_INLINE T apply(T a) { return static_cast<T>(~a); }
};
template <class T>
struct Cnot {
  static MOE4_INLINE T apply(T a) { return a == 0 ? 1 : 0; }
};
template <class T>
struct Neg {
  static MOE4_INLINE T apply(T a) { return static_cast<T>(0 - Work<T>(a)); }
};
template <class T>
struct Abs {
  static MOE4_INLINE T apply(T a) { return a < 0 ? static_cast<T>(0 - Work<T>(a)) : a; }
};
template <class T>
struct Popc {
  static MOE4_INLINE std::uint32_t apply(T a) { return static_cast<std::uint32_t>(std::popcount(a)); }
};
template <class T>
struct Clz {
  static MOE4_INLINE std::uint32_t apply(T a) { return static_cast<std::uint32_t>(std::countl_zero(a)); }
};
template <class T>
struct Brev {
  static MOE4_INLINE T apply(T a) {
    std::uint64_t x = a;
    x = ((x >> 1) & 0x5555555555555555u) | ((x & 0x5555555555555555u) << 1);
    x = ((x >> 2) & 0x3333333333333333u) | ((x & 0x3333333333333333u) << 2);
    x = ((x >> 4) & 0x0f0f0f0f0f0f0f0fu) | ((x & 0x0f0f0f0f0f0f0f0fu) << 4);
    x = __builtin_bswap64(x);
    return static_cast<T>(x >> (64 - kBits<T>));
  }
};
template <class T>
struct Bfind {
  static MOE4_INLINE std::uint32_t apply(T a) {
    const auto u = static_cast<Unsigned<T>>(a < 0 ? ~a : a);
    return u == 0 ? 0xffffffffu : kBits<T> - 1 - static_cast<std::uint32_t>(std::countl_zero(u));
  }
};
template <class T>
struct BfindShift {
  static MOE4_INLINE std::uint32_t apply(T a) {
    const std::uint32_t found = Bfind<T>::apply(a);
    return found == 0xffffffffu ? found : kBits<T> - 1 - found;
  }
};

template <class T>
struct Add {
  static MOE4_INLINE T apply(T a, T b) { return static_cast<T>(Work<T>(a) + Work<T>(b)); }
};
template <class T>
struct Sub {
  static MOE4_INLINE T apply(T a, T b) { return static_cast<T>(Work<T>(a) - Work<T>(b)); }
};
template <class T>
struct MulLo {
  static MOE4_INLINE T apply(T a, T b) { return static_cast<T>(Work<T>(a) * Work<T>(b)); }
};
template <class T>
struct MulHi {
  static MOE4_INLINE T apply(T a, T b) { return static_cast<T>((Wide<T>(a) * Wide<T>(b)) >> kBits<T>); }
};
template <class T>
struct MulWide {
  static MOE4_INLINE Wide<T> apply(T a, T b) { return Wide<T>(a) * Wide<T>(b); }
};
// Division by zero is unspecified by the ISA and reported; all ones is what the hardware's code gives.
template <class T>
struct Div {
  static MOE4_INLINE T apply(T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return Neg<T>::apply(a);
    return static_cast<T>(a / b);
  }
};
template <class T>
struct Rem {
  static MOE4_INLINE T apply(T a, T b) {
    if (b == 0) return a;
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
    return static_cast<T>(a % b);
  }
};
template <class T>
struct Min {
  static MOE4_INLINE T apply(T a, T b) { return b < a ? b : a; }
};
template <class T>
struct Max {
  static MOE4_INLINE T apply(T a, T b) { return a < b ? b : a; }
};
template <class T>
struct And {
  static MOE4_INLINE T apply(T a, T b) { return static_cast<T>(a & b); }
};
template <class T>
struct Or {
  static MOE4_INLINE T apply(T a, T b) { return static_cast<T>(a | b); }
};
template <class T>
struct Xor {
  static MOE4_INLINE T apply(T a, T b) { return static_cast<T>(a ^ b); }
};
// Amounts above the width clamp to the width.
template <class T>
struct Shl {
  static MOE4_INLINE T apply(T a, std::uint32_t b) {
    return b >= kBits<T> ? T{0} : static_cast<T>(Work<T>(a) << (b & (kBits<T> - 1)));
  }
};
template <class T>
struct Shr {
  static MOE4_INLINE T apply(T a, std::uint32_t b) {
    if constexpr (std::is_signed_v<T>) {
      return static_cast<T>(a >> (b >= kBits<T> ? kBits<T> - 1 : b));
    } else {
      return b >= kBits<T> ? T{0} : static_cast<T>(a >> (b & (kBits<T> - 1)));
    }
  }
};
template <class T>
MOE4_INLINE T clamp_to(std::int64_t value) {
  constexpr std::int64_t kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  return static_cast<T>(value < kLow ? kLow : value > kHigh ? kHigh : value);
}
struct AddSat {
  static MOE4_INLINE std::int32_t apply(std::int32_t a, std::int32_t b) {
    return clamp_to<std::int32_t>(std::int64_t{a} + b);
  }
};
struct SubSat {
  static MOE4_INLINE std::int32_t apply(std::int32_t a, std::int32_t b) {
    return clamp_to<std::int32_t>(std::int64_t{a} - b);
  }
};
template <class T>
MOE4_INLINE std::int64_t low24(T a) {
  if constexpr (std::is_signed_v<T>)
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) << 8) >> 8;
  return static_cast<std::int64_t>(a & 0xffffffu);
}
template <class T>
struct Mul24 {
  static MOE4_INLINE T apply(T a, T b) { return static_cast<T>(low24(a) * low24(b)); }
};
template <class T>
struct MulHi24 {
  static MOE4_INLINE T apply(T a, T b) { return static_cast<T>((low24(a) * low24(b)) >> 16); }
};

template <class T>
struct MadLo {
  static MOE4_INLINE T apply(T a, T b, T c) { return static_cast<T>(Work<T>(a) * Work<T>(b) + Work<T>(c)); }
};
template <class T>
struct MadHi {
  static MOE4_INLINE T apply(T a, T b, T c) { return Add<T>::apply(MulHi<T>::apply(a, b), c); }
};
template <class T>
struct MadWide {
  static MOE4_INLINE Wide<T> apply(T a, T b, Wide<T> c) {
    return Add<Wide<T>>::apply(MulWide<T>::apply(a, b), c);
  }
};
struct MadHiSat {
  static MOE4_INLINE std::int32_t apply(std::int32_t a, std::int32_t b, std::int32_t c) {
    return clamp_to<std::int32_t>(std::int64_t{MulHi<std::int32_t>::apply(a, b)} + c);
  }
};
template <class T>
struct Mad24 {
  static MOE4_INLINE T apply(T a, T b, T c) { return Add<T>::apply(Mul24<T>::apply(a, b), c); }
};
template <class T>
struct Sad {
  static MOE4_INLINE T apply(T a, T b, T c) {
    return Add<T>::apply(c, a < b ? Sub<T>::apply(b, a) : Sub<T>::apply(a, b));
  }
};
// Position and length are taken modulo 256; bits above the field copy its sign (of the last bit there is).
template <class T>
struct Bfe {
  static MOE4_INLINE T apply(T a, std::uint32_t b, std::uint32_t c) {
    const std::uint32_t position = b & 0xff, length = c & 0xff;
    if (length == 0) return 0;
    const std::uint32_t last = position + length - 1 < kBits<T> - 1 ? position + length - 1 : kBits<T> - 1;
    using U = Unsigned<T>;
    const U u = static_cast<U>(a);
    const U field = position >= kBits<T> ? U{0} : static_cast<U>(u >> position);
    const std::uint32_t width = length < kBits<T> ? length : kBits<T>;
    const U keep = width >= kBits<T> ? static_cast<U>(~U{0}) : static_cast<U>((U{1} << width) - 1);
    const bool sign = std::is_signed_v<T> && ((u >> last) & 1);
    const std::uint32_t there =
        position >= kBits<T> ? 0 : (kBits<T> - position < width ? kBits<T> - position : width);
    const U filled = there >= kBits<T> ? static_cast<U>(~U{0}) : static_cast<U>((U{1} << there) - 1);
    const U low = field & keep;
    return static_cast<T>(sign ? static_cast<U>(low | ~filled) : low);
  }
};
template <class T>
struct Bfi {
  static MOE4_INLINE T apply(T a, T b, std::uint32_t position, std::uint32_t length) {
    position &= 0xff;
    length &= 0xff;
    if (length == 0 || position >= kBits<T>) return b;
    const T field =
        length >= kBits<T> ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << (length & (kBits<T> - 1))) - 1);
    const T keep = static_cast<T>(field << (position & (kBits<T> - 1)));
    return static_cast<T>((b & ~keep) | ((a << (position & (kBits<T> - 1))) & keep));
  }
};
template <bool kLeft, bool kWrap>
struct Shf {
  static MOE4_INLINE std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    const std::uint32_t n = kWrap ? c & 31 : (c < 32 ? c : 32);
    const std::uint64_t pair = (std::uint64_t{b} << 32) | a;
    return static_cast<std::uint32_t>(kLeft ? (pair << n) >> 32 : pair >> n);
  }
};
struct Lop3 {
  static MOE4_INLINE std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                         std::uint64_t imm) {
    const auto table = static_cast<std::uint32_t>(imm);
    std::uint32_t result = 0;
    for (std::uint32_t k = 0; k < 8; ++k) {
      const std::uint32_t minterm = (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
      result |= minterm & (0u - ((table >> k) & 1));
    }
    return result;
  }
};
// imm: 0 default, then f4e, b4e, rc8, ecl, ecr, rc16.
struct Prmt {
  static MOE4_INLINE std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                         std::uint64_t imm) {
    const std::uint64_t pair = (std::uint64_t{b} << 32) | a;
    std::uint32_t result = 0;
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::uint32_t s = c & 3;
      std::uint32_t pick = (c >> (4 * i)) & 7;
      bool sign = (c >> (4 * i)) & 8;
      if (imm != 0) {
        sign = false;
        if (imm == 1) pick = s + i;
        if (imm == 2) pick = (8 + s - i) & 7;
        if (imm == 3) pick = s;
        if (imm == 4) pick = i > s ? i : s;
        if (imm == 5) pick = i < s ? i : s;
        if (imm == 6) pick = 2 * (c & 1) + (i & 1);
      }
      std::uint32_t byte = static_cast<std::uint32_t>(pair >> (8 * pick)) & 0xff;
      if (sign) byte = byte & 0x80 ? 0xff : 0;
      result |= byte << (8 * i);
    }
    return result;
  }
};
template <bool kSignedA, bool kSignedB>
struct Dp4a {
  static MOE4_INLINE std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    std::uint32_t sum = c;
    for (unsigned i = 0; i < 4; ++i) {
      const std::uint32_t x = (a >> (8 * i)) & 0xff, y = (b >> (8 * i)) & 0xff;
      const std::int32_t xs = kSignedA ? static_cast<std::int8_t>(x) : static_cast<std::int32_t>(x);
      const std::int32_t ys = kSignedB ? static_cast<std::int8_t>(y) : static_cast<std::int32_t>(y);
      sum += static_cast<std::uint32_t>(xs * ys);
    }
    return sum;
  }
};
// imm: 0 the low half of b's bytes, 1 the high half.
template <bool kSignedA, bool kSignedB>
struct Dp2a {
  static MOE4_INLINE std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                         std::uint64_t imm) {
    std::uint32_t sum = c;
    for (unsigned i = 0; i < 2; ++i) {
      const std::uint32_t x = (a >> (16 * i)) & 0xffff;
      const std::uint32_t y = (b >> (8 * i + (imm ? 16 : 0))) & 0xff;
      const std::int32_t xs = kSignedA ? static_cast<std::int16_t>(x) : static_cast<std::int32_t>(x);
      const std::int32_t ys = kSignedB ? static_cast<std::int8_t>(y) : static_cast<std::int32_t>(y);
      sum += static_cast<std::uint32_t>(xs) * static_cast<std::uint32_t>(ys);
    }
    return sum;
  }
};
template <bool kWrap>
struct Bmsk {
  static MOE4_INLINE std::uint32_t apply(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t start = kWrap ? a & 31 : a;
    const std::uint32_t width = kWrap ? b & 31 : b;
    if (start >= 32 || width == 0) return 0;
    const std::uint32_t ones = width >= 32 ? 0xffffffffu : (1u << width) - 1;
    return ones << start;
  }
};
template <class T, bool kWrap>
struct Szext {
  static MOE4_INLINE std::uint32_t apply(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t n = kWrap ? b & 31 : b;
    if (n >= 32) return a;
    if (n == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      return static_cast<std::uint32_t>(static_cast<std::int32_t>(a << (32 - n)) >> (32 - n));
    } else {
      return a & ((1u << n) - 1);
    }
  }
};

template <template <class> class Op, bool kSignedToo = true>
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
