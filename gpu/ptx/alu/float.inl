// FP32 and FP64 instructions that round to nearest even, for one host instruction set.

template <class T>
struct Ieee;
template <>
struct Ieee<float> {
  using Bits = std::uint32_t;
  static constexpr Bits kNan = 0x7fffffffu, kInf = 0x7f800000u, kSign = 0x80000000u;
};
template <>
struct Ieee<double> {
  using Bits = std::uint64_t;
  static constexpr Bits kNan = 0x7ff8000000000000u, kInf = 0x7ff0000000000000u, kSign = 0x8000000000000000u;
};
template <class T>
using BitsOf = typename Ieee<T>::Bits;

template <class T>
MOE4_INLINE BitsOf<T> bits(T value) {
  return std::bit_cast<BitsOf<T>>(value);
}
template <class T>
MOE4_INLINE T value(BitsOf<T> pattern) {
  return std::bit_cast<T>(pattern);
}

// Every NaN that an operation makes is the canonical one, so that host and compiler don't matter.
template <class T>
MOE4_INLINE T canonical(T r) {
  return r != r ? value<T>(Ieee<T>::kNan) : r;
}
template <class T>
MOE4_INLINE T flush(T r) {
  const BitsOf<T> b = bits(r);
  return (b & Ieee<T>::kInf) == 0 ? value<T>(b & Ieee<T>::kSign) : r;
}
template <class T>
MOE4_INLINE T saturate(T r) {
  return r > T(0) ? (r < T(1) ? r : T(1)) : T(0);
}

template <class T>
struct FAdd {
  static MOE4_INLINE T apply(T a, T b) { return a + b; }
};
template <class T>
struct FSub {
  static MOE4_INLINE T apply(T a, T b) { return a - b; }
};
template <class T>
struct FMul {
  static MOE4_INLINE T apply(T a, T b) { return a * b; }
};
template <class T>
struct FDiv {
  static MOE4_INLINE T apply(T a, T b) { return a / b; }
};
template <class T>
struct FRcp {
  static MOE4_INLINE T apply(T a) { return T(1) / a; }
};
template <class T>
struct FSqrt {
  static MOE4_INLINE T apply(T a) { return a < T(0) ? value<T>(Ieee<T>::kNan) : std::sqrt(a); }
};
template <class T>
struct FFma {
  static MOE4_INLINE T apply(T a, T b, T c) { return std::fma(a, b, c); }
};
// -0 < +0; a NaN loses against a number, or wins when kNan.
template <class T, bool kNan>
struct FMin {
  static MOE4_INLINE T apply(T a, T b) {
    const T number = a < b ? a : b < a ? b : value<T>(bits(a) | bits(b));
    if (kNan) return a != a || b != b ? value<T>(Ieee<T>::kNan) : number;
    return a != a ? b : b != b ? a : number;
  }
};
template <class T, bool kNan>
struct FMax {
  static MOE4_INLINE T apply(T a, T b) {
    const T number = a > b ? a : b > a ? b : value<T>(bits(a) & bits(b));
    if (kNan) return a != a || b != b ? value<T>(Ieee<T>::kNan) : number;
    return a != a ? b : b != b ? a : number;
  }
};
// 1/sqrt, rounded once from FP64: one of the values rsqrt.approx may return.
struct FRsqrt {
  static MOE4_INLINE float apply(float a) {
    if (a < 0.0f) return value<float>(Ieee<float>::kNan);
    return static_cast<float>(1.0 / std::sqrt(static_cast<double>(a)));
  }
};

template <class T, class Op, bool kFtz, bool kSat>
struct Rounded {
  template <class... Sources>
  static MOE4_INLINE T apply(Sources... sources) {
    T r = Op::apply((kFtz ? flush<T>(sources) : sources)...);
    if (kFtz) r = flush<T>(r);
    if (kSat) r = saturate<T>(r);
    return canonical<T>(r);
  }
};

template <class T, bool kFtz>
struct FNeg {
  static MOE4_INLINE T apply(T a) {
    const T x = kFtz ? flush<T>(a) : a;
    return value<T>(bits(x) ^ Ieee<T>::kSign);
  }
};
template <class T, bool kFtz>
struct FAbs {
  static MOE4_INLINE T apply(T a) {
    const T x = kFtz ? flush<T>(a) : a;
    return value<T>(bits(x) & ~Ieee<T>::kSign);
  }
};
// copysign d, a, b: the sign of a on b.
template <class T>
struct FCopysign {
  static MOE4_INLINE T apply(T a, T b) {
    return value<T>((bits(b) & ~Ieee<T>::kSign) | (bits(a) & Ieee<T>::kSign));
  }
};

template <class T, template <class> class Op>
Handler rounded_unary(FloatMode mode) {
  if (mode.sat) return nullptr;
  if (mode.ftz) return &unary<Rounded<T, Op<T>, true, false>, T, T>;
  return &unary<Rounded<T, Op<T>, false, false>, T, T>;
}
template <class T, class Op>
Handler rounded_binary(FloatMode mode) {
  if (mode.ftz) {
    return mode.sat ? &binary<Rounded<T, Op, true, true>, T, T, T>
                    : &binary<Rounded<T, Op, true, false>, T, T, T>;
  }
  return mode.sat ? &binary<Rounded<T, Op, false, true>, T, T, T>
                  : &binary<Rounded<T, Op, false, false>, T, T, T>;
}
template <class T, class Op>
Handler rounded_ternary(FloatMode mode) {
  if (mode.ftz) {
    return mode.sat ? &ternary<Rounded<T, Op, true, true>, T, T, T, T>
                    : &ternary<Rounded<T, Op, true, false>, T, T, T, T>;
  }
  return mode.sat ? &ternary<Rounded<T, Op, false, true>, T, T, T, T>
                  : &ternary<Rounded<T, Op, false, false>, T, T, T, T>;
}

template <class T>
Handler float_handler_of(FloatOp op, FloatMode mode) {
  if (mode.relu) return nullptr;
  if (std::is_same_v<T, double> && (mode.ftz || mode.sat)) return nullptr;
  switch (op) {
    case FloatOp::kAdd:
      return rounded_binary<T, FAdd<T>>(mode);
    case FloatOp::kSub:
      return rounded_binary<T, FSub<T>>(mode);
    case FloatOp::kMul:
      return rounded_binary<T, FMul<T>>(mode);
    case FloatOp::kDiv:
      return rounded_binary<T, FDiv<T>>(mode);
    case FloatOp::kMin:
      return rounded_binary<T, FMin<T, false>>(mode);
    case FloatOp::kMax:
      return rounded_binary<T, FMax<T, false>>(mode);
    case FloatOp::kMinNan:
      return rounded_binary<T, FMin<T, true>>(mode);
    case FloatOp::kMaxNan:
      return rounded_binary<T, FMax<T, true>>(mode);
    case FloatOp::kFma:
      return rounded_ternary<T, FFma<T>>(mode);
    case FloatOp::kNeg:
      return mode.ftz ? &unary<FNeg<T, true>, T, T> : &unary<FNeg<T, false>, T, T>;
    case FloatOp::kAbs:
      return mode.ftz ? &unary<FAbs<T, true>, T, T> : &unary<FAbs<T, false>, T, T>;
    case FloatOp::kRcp:
      return rounded_unary<T, FRcp>(mode);
    case FloatOp::kSqrt:
      return rounded_unary<T, FSqrt>(mode);
    case FloatOp::kCopysign:
      return &binary<FCopysign<T>, T, T, T>;
    case FloatOp::kRsqrt:
      if constexpr (std::is_same_v<T, float>) {
        return mode.ftz ? &unary<Rounded<float, FRsqrt, true, false>, float, float>
                        : &unary<Rounded<float, FRsqrt, false, false>, float, float>;
      }
      return nullptr;
  }
  return nullptr;
}

Handler float_handler(FloatOp op, Type type, FloatMode mode) {
  if (type == Type::kF32) return float_handler_of<float>(op, mode);
  if (type == Type::kF64) return float_handler_of<double>(op, mode);
  return nullptr;
}
