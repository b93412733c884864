// The frequent conversions, for one host instruction set: integers by truncation and extension, integers to
// FP32, FP32 to and from F16 and BF16, all to nearest even. The rest is in run/convert.cc.

template <class D, class S>
struct Cast {
  static MOE4_INLINE D apply(S a) { return static_cast<D>(a); }
};
struct F32FromF16 {
  static MOE4_INLINE float apply(std::uint16_t a) { return canonical(static_cast<float>(f16_value(a))); }
};
struct F32FromBF16 {
  static MOE4_INLINE float apply(std::uint16_t a) { return canonical(bf16_value(a)); }
};
struct F16FromF32 {
  static MOE4_INLINE std::uint16_t apply(float a) {
    return a != a ? F16::kNan : f16_from_double(static_cast<double>(a));
  }
};
struct BF16FromF32 {
  static MOE4_INLINE std::uint16_t apply(float a) { return bf16_from_float(a); }
};

template <class S>
Handler cast_from(Type to) {
  switch (bytes_of(to)) {
    case 1:
      return &unary<Cast<std::uint8_t, S>, std::uint8_t, S>;
    case 2:
      return &unary<Cast<std::uint16_t, S>, std::uint16_t, S>;
    case 4:
      return &unary<Cast<std::uint32_t, S>, std::uint32_t, S>;
    case 8:
      return &unary<Cast<std::uint64_t, S>, std::uint64_t, S>;
    default:
      return nullptr;
  }
}

Handler convert_handler(Type to, Type from) {
  if (is_integer(to)) {
    switch (from) {
      case Type::kU8:
      case Type::kB8:
        return cast_from<std::uint8_t>(to);
      case Type::kS8:
        return cast_from<std::int8_t>(to);
      case Type::kU16:
      case Type::kB16:
        return cast_from<std::uint16_t>(to);
      case Type::kS16:
        return cast_from<std::int16_t>(to);
      case Type::kU32:
      case Type::kB32:
        return cast_from<std::uint32_t>(to);
      case Type::kS32:
        return cast_from<std::int32_t>(to);
      case Type::kU64:
      case Type::kB64:
        return cast_from<std::uint64_t>(to);
      case Type::kS64:
        return cast_from<std::int64_t>(to);
      default:
        return nullptr;
    }
  }
  if (to == Type::kF32) {
    switch (from) {
      case Type::kU8:
        return &unary<Cast<float, std::uint8_t>, float, std::uint8_t>;
      case Type::kS8:
        return &unary<Cast<float, std::int8_t>, float, std::int8_t>;
      case Type::kU16:
        return &unary<Cast<float, std::uint16_t>, float, std::uint16_t>;
      case Type::kS16:
        return &unary<Cast<float, std::int16_t>, float, std::int16_t>;
      case Type::kU32:
        return &unary<Cast<float, std::uint32_t>, float, std::uint32_t>;
      case Type::kS32:
        return &unary<Cast<float, std::int32_t>, float, std::int32_t>;
      case Type::kF16:
        return &unary<F32FromF16, float, std::uint16_t>;
      case Type::kBF16:
        return &unary<F32FromBF16, float, std::uint16_t>;
      default:
        return nullptr;
    }
  }
  if (to == Type::kF16 && from == Type::kF32) return &unary<F16FromF32, std::uint16_t, float>;
  if (to == Type::kBF16 && from == Type::kF32) return &unary<BF16FromF32, std::uint16_t, float>;
  return nullptr;
}
