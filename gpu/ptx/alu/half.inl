// F16 and BF16 instructions, single and in pairs, for one host instruction set. Every result is the exact
// value rounded once to nearest even; subnormals are kept unless .ftz.

struct F16 {
  static constexpr std::uint16_t kNan = 0x7fff, kInf = 0x7c00;
  static MOE4_INLINE double wide(std::uint16_t h) { return f16_value(h); }
  static MOE4_INLINE std::uint16_t narrow(double exact) { return f16_from_double(exact); }
};
struct BF16 {
  static constexpr std::uint16_t kNan = 0x7fff, kInf = 0x7f80;
  static MOE4_INLINE double wide(std::uint16_t h) { return std::bit_cast<float>(std::uint32_t{h} << 16); }
  static MOE4_INLINE std::uint16_t narrow(double odd) { return bf16_from_odd(odd); }
};

// a + b in FP64, its last bit set when bits were lost (round to odd), so that rounding once more to few bits
// is exact.
MOE4_INLINE double add_odd(double a, double b) {
  const double s = a + b;
  const double bb = s - a;
  const double error = (a - (s - bb)) + (b - bb);
  if (error == 0.0 || !(std::fabs(s) < std::numeric_limits<double>::infinity())) return s;
  const auto pattern = std::bit_cast<std::uint64_t>(s);
  if (pattern & 1) return s;
  const bool up = (error > 0) == (s > 0);
  return std::bit_cast<double>(up ? pattern + 1 : pattern - 1);
}

template <class F>
struct HAdd {
  static MOE4_INLINE std::uint16_t apply(std::uint16_t a, std::uint16_t b) {
    return F::narrow(add_odd(F::wide(a), F::wide(b)));
  }
};
template <class F>
struct HSub {
  static MOE4_INLINE std::uint16_t apply(std::uint16_t a, std::uint16_t b) {
    return F::narrow(add_odd(F::wide(a), -F::wide(b)));
  }
};
template <class F>
struct HMul {
  static MOE4_INLINE std::uint16_t apply(std::uint16_t a, std::uint16_t b) {
    return F::narrow(F::wide(a) * F::wide(b));
  }
};
// The product of two such numbers is exact in FP64.
template <class F>
struct HFma {
  static MOE4_INLINE std::uint16_t apply(std::uint16_t a, std::uint16_t b, std::uint16_t c) {
    return F::narrow(add_odd(F::wide(a) * F::wide(b), F::wide(c)));
  }
};
template <class F, bool kMax, bool kNan>
struct HExtreme {
  static MOE4_INLINE std::uint16_t apply(std::uint16_t a, std::uint16_t b) {
    const bool nan_a = (a & 0x7fff) > F::kInf, nan_b = (b & 0x7fff) > F::kInf;
    if (nan_a || nan_b) {
      if (kNan || (nan_a && nan_b)) return F::kNan;
      return nan_a ? b : a;
    }
    // Ordered as integers once negative numbers are turned over; -0 < +0.
    const int x = a & 0x8000 ? -1 - (a & 0x7fff) : a, y = b & 0x8000 ? -1 - (b & 0x7fff) : b;
    return (x < y) != kMax ? a : b;
  }
};

template <class F, class Op>
struct HRounded {
  template <class... Sources>
  static MOE4_INLINE std::uint16_t apply(Sources... sources) {
    const std::uint16_t r = Op::apply(sources...);
    return (r & 0x7fff) > F::kInf ? F::kNan : r;
  }
};
template <class F>
MOE4_INLINE std::uint16_t flushed(std::uint16_t h, bool ftz) {
  return ftz && (h & F::kInf) == 0 ? static_cast<std::uint16_t>(h & 0x8000) : h;
}
// imm: encode(FloatMode).
template <class F>
MOE4_INLINE std::uint16_t finished(std::uint16_t result, std::uint64_t imm) {
  const bool ftz = imm & kModeFtz, sat = imm & kModeSat, relu = imm & kModeRelu;
  if ((result & 0x7fff) > F::kInf) return sat ? 0 : F::kNan;
  constexpr std::uint16_t kOne = F::kInf == 0x7c00 ? 0x3c00 : 0x3f80;
  const std::uint16_t r = flushed<F>(result, ftz);
  if ((sat || relu) && (r & 0x8000)) return 0;
  return sat && r > kOne ? kOne : r;
}
template <class F, class Op>
struct HModes2 {
  static MOE4_INLINE std::uint16_t apply(std::uint16_t a, std::uint16_t b, std::uint64_t imm) {
    const bool ftz = imm & kModeFtz;
    return finished<F>(Op::apply(flushed<F>(a, ftz), flushed<F>(b, ftz)), imm);
  }
};
template <class F, class Op>
struct HModes3 {
  static MOE4_INLINE std::uint16_t apply(std::uint16_t a, std::uint16_t b, std::uint16_t c,
                                         std::uint64_t imm) {
    const bool ftz = imm & kModeFtz;
    return finished<F>(Op::apply(flushed<F>(a, ftz), flushed<F>(b, ftz), flushed<F>(c, ftz)), imm);
  }
};

template <class F, bool kAbs, bool kFtz>
struct HSign {
  static MOE4_INLINE std::uint16_t apply(std::uint16_t a) {
    const std::uint16_t x = kFtz && (a & F::kInf) == 0 ? static_cast<std::uint16_t>(a & 0x8000) : a;
    return static_cast<std::uint16_t>(kAbs ? x & 0x7fff : x ^ 0x8000);
  }
};

template <class F, class Op, unsigned kPerLane>
Handler half_binary(FloatMode mode) {
  using U = std::uint16_t;
  if (mode.ftz || mode.sat || mode.relu) return &binary<HModes2<F, Op>, U, U, U, kPerLane>;
  return &binary<HRounded<F, Op>, U, U, U, kPerLane>;
}
template <class F, class Op, unsigned kPerLane>
Handler half_ternary(FloatMode mode) {
  using U = std::uint16_t;
  if (mode.ftz || mode.sat || mode.relu) return &ternary<HModes3<F, Op>, U, U, U, U, kPerLane>;
  return &ternary<HRounded<F, Op>, U, U, U, U, kPerLane>;
}

template <class F, unsigned kPerLane>
Handler half_handler_of(FloatOp op, FloatMode mode) {
  using U = std::uint16_t;
  switch (op) {
    case FloatOp::kAdd:
      return half_binary<F, HAdd<F>, kPerLane>(mode);
    case FloatOp::kSub:
      return half_binary<F, HSub<F>, kPerLane>(mode);
    case FloatOp::kMul:
      return half_binary<F, HMul<F>, kPerLane>(mode);
    case FloatOp::kFma:
      return half_ternary<F, HFma<F>, kPerLane>(mode);
    case FloatOp::kMin:
      return half_binary<F, HExtreme<F, false, false>, kPerLane>(mode);
    case FloatOp::kMax:
      return half_binary<F, HExtreme<F, true, false>, kPerLane>(mode);
    case FloatOp::kMinNan:
      return half_binary<F, HExtreme<F, false, true>, kPerLane>(mode);
    case FloatOp::kMaxNan:
      return half_binary<F, HExtreme<F, true, true>, kPerLane>(mode);
    case FloatOp::kNeg:
      return mode.ftz ? &unary<HSign<F, false, true>, U, U, kPerLane>
                      : &unary<HSign<F, false, false>, U, U, kPerLane>;
    case FloatOp::kAbs:
      return mode.ftz ? &unary<HSign<F, true, true>, U, U, kPerLane>
                      : &unary<HSign<F, true, false>, U, U, kPerLane>;
    default:
      return nullptr;
  }
}

Handler half_handler(FloatOp op, Type type, FloatMode mode) {
  switch (type) {
    case Type::kF16:
      return half_handler_of<F16, 1>(op, mode);
    case Type::kF16x2:
      return half_handler_of<F16, 2>(op, mode);
    case Type::kBF16:
      return half_handler_of<BF16, 1>(op, mode);
    case Type::kBF16x2:
      return half_handler_of<BF16, 2>(op, mode);
    default:
      return nullptr;
  }
}
