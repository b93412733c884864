// Bounds of one row from its scales, eight groups at a time.

using Word8 = std::int32_t __attribute__((vector_size(32)));
using Long8 = std::int64_t __attribute__((vector_size(64)));
using Float8 = float __attribute__((vector_size(32)));
using Double8 = double __attribute__((vector_size(64)));

// 2^exponent, for exponents of normal doubles.
MOE4_TARGET inline void power_of_two(const Word8& exponent, Double8& result) {
  const Long8 wide = __builtin_convertvector(exponent, Long8);
  result = reinterpret_cast<Double8>((wide + 1023) << 52);
}

// Eight E8M0 scales: weights are multiples of half the scale, and at most 6 times it (FMT-1). Byte 255 is
// 2^128 (COR-1); where it is NaN or Inf there is no bound to be had, nor needed.
MOE4_TARGET inline void bounds_of_scales(const std::uint8_t* bytes, Double8& max_abs, Word8& lsb) {
  using Byte8 = std::uint8_t __attribute__((vector_size(8)));
  Byte8 narrow;
  std::memcpy(&narrow, bytes, sizeof(narrow));
  const Word8 b = __builtin_convertvector(narrow, Word8);
  power_of_two(b - 127, max_abs);
  max_abs *= 6.0;
  lsb = b - 128;
}

// Eight BF16 scales: a weight is at most 8 times the scale, and a multiple of its lowest bit: rounding to
// BF16 clears bits from below (INT-4).
MOE4_TARGET inline void bounds_of_scales(const std::uint16_t* bits, Double8& max_abs, Word8& lsb) {
  using Half8 = std::uint16_t __attribute__((vector_size(16)));
  Half8 narrow;
  std::memcpy(&narrow, bits, sizeof(narrow));
  const Word8 s = __builtin_convertvector(narrow, Word8);
  const Word8 field = (s >> 7) & 255;
  const Word8 normal = field != 0;  // -1 or 0
  const Word8 significand = (s & 127) | (normal & 128);
  const Word8 exponent = field - 134 + 1 + normal;
  const Word8 lowest = significand & -significand;
  const Float8 lowest_value = __builtin_convertvector(lowest, Float8);
  const Word8 position = (reinterpret_cast<Word8>(lowest_value) >> 23) - 127;
  const Word8 zero = significand == 0;
  lsb = ((exponent + position) & ~zero) | (zero & kNoBits);
  power_of_two(exponent + 3, max_abs);
  max_abs *= __builtin_convertvector(significand, Double8);
}

template <class Bits>
MOE4_TARGET RowBound bound_of(const std::uint8_t* scales, std::int64_t groups, const double* sum_abs,
                              const std::int32_t* lsb) {
  Double8 total = {};
  Double8 most = {};
  Word8 least = Word8{} + kNoBits;
  for (std::int64_t g = 0; g < groups; g += 8) {
    const std::int64_t count = groups - g < 8 ? groups - g : 8;
    Bits bits[8] = {};
    Double8 x = {};
    Word8 x_lsb = Word8{} + kNoBits;
    if (count == 8) {
      std::memcpy(bits, scales + g * static_cast<std::int64_t>(sizeof(Bits)), sizeof(bits));
      std::memcpy(&x, sum_abs + g, sizeof(x));
      std::memcpy(&x_lsb, lsb + g, sizeof(x_lsb));
    } else {
      std::memcpy(bits, scales + g * static_cast<std::int64_t>(sizeof(Bits)),
                  static_cast<std::size_t>(count) * sizeof(Bits));
      for (int k = 0; k < count; ++k) {
        x[k] = sum_abs[g + k];
        x_lsb[k] = lsb[g + k];
      }
    }
    Double8 max_abs;
    Word8 w_lsb;
    bounds_of_scales(bits, max_abs, w_lsb);
    total += max_abs * x;
    const Long8 more = max_abs > most;
    most = more ? max_abs : most;
    const Word8 sum = w_lsb + x_lsb;
    least = sum < least ? sum : least;
  }
  RowBound result{0, 0, kNoBits};
  for (int k = 0; k < 8; ++k) {
    result.sum_abs += total[k];
    if (most[k] > result.max_abs) result.max_abs = most[k];
    if (least[k] < result.lsb) result.lsb = least[k];
  }
  return result;
}

MOE4_TARGET RowBound bound(WeightFormat format, const std::uint8_t* scales, std::int64_t groups,
                           const double* sum_abs, const std::int32_t* lsb) {
  if (format == WeightFormat::kMxfp4) return bound_of<std::uint8_t>(scales, groups, sum_abs, lsb);
  return bound_of<std::uint16_t>(scales, groups, sum_abs, lsb);
}
