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
