// Tokens as the kernels want them, a vector at a time.

// Rows of BF16 as F32 in the order of a group.
MOE4_TARGET void widen_bf16(const std::uint8_t* bits, std::int64_t groups, float* out) {
  for (std::int64_t half = 0; half < 2 * groups; ++half) {
    Word8 pairs;
    std::memcpy(&pairs, bits + 32 * half, sizeof(pairs));
    const Word8 even = pairs << 16;
    const Word8 odd = pairs & static_cast<std::int32_t>(0xFFFF0000);
    float* const at = out + 32 * (half / 2) + 8 * (half % 2);
    std::memcpy(at, &even, sizeof(even));
    std::memcpy(at + 16, &odd, sizeof(odd));
  }
}

MOE4_TARGET void to_f64(const float* in, std::int64_t count, double* out) {
  for (std::int64_t i = 0; i < count; i += 8) {
    Float8 x;
    std::memcpy(&x, in + i, sizeof(x));
    const Double8 wide = __builtin_convertvector(x, Double8);
    std::memcpy(out + i, &wide, sizeof(wide));
  }
}

MOE4_TARGET TokenFacts scan(const float* x, std::int64_t groups, double* sum_abs, std::int32_t* lsb) {
  Word8 not_finite = {};
  Word8 most = {};
  for (std::int64_t g = 0; g < groups; ++g) {
    Double8 sum = {};
    Word8 least = Word8{} + kNoBits;
    for (int part = 0; part < 4; ++part) {
      Word8 bits;
      std::memcpy(&bits, x + 32 * g + 8 * part, sizeof(bits));
      bits = bits & 0x7FFFFFFF;
      const Word8 infinite = bits >= 0x7F800000;
      not_finite = not_finite | infinite;
      bits = bits & ~infinite;
      const Word8 larger = bits > most;
      most = larger ? bits : most;
      sum += __builtin_convertvector(reinterpret_cast<Float8>(bits), Double8);
      const Word8 field = bits >> 23;
      const Word8 normal = field != 0;  // -1 or 0
      const Word8 significand = (bits & 0x7FFFFF) | (normal & 0x800000);
      const Word8 lowest = significand & -significand;
      const Word8 position = (reinterpret_cast<Word8>(__builtin_convertvector(lowest, Float8)) >> 23) - 127;
      const Word8 zero = significand == 0;
      const Word8 exponent = ((field - 149 + normal + position) & ~zero) | (zero & kNoBits);
      least = exponent < least ? exponent : least;
    }
    double total = 0;
    std::int32_t lowest = kNoBits;
    for (int k = 0; k < 8; ++k) {
      total += sum[k];
      if (least[k] < lowest) lowest = least[k];
    }
    sum_abs[g] = total;
    lsb[g] = lowest;
  }
  TokenFacts facts{true, 0};
  for (int k = 0; k < 8; ++k) {
    facts.finite = facts.finite && not_finite[k] == 0;
    const float magnitude = std::bit_cast<float>(static_cast<std::int32_t>(most[k]));
    if (magnitude > facts.max_abs) facts.max_abs = magnitude;
  }
  return facts;
}

// What is left of x, in units of digit k, after the digits before it.
MOE4_TARGET inline void rest_of(const float* x, double inverse_unit, int k, Double8& rest) {
  Float8 narrow;
  std::memcpy(&narrow, x, sizeof(narrow));
  rest = __builtin_convertvector(narrow, Double8) * inverse_unit;
  for (int digit = 0; digit < k; ++digit) {
    const Word8 whole = __builtin_convertvector(rest, Word8);  // toward zero
    rest = (rest - __builtin_convertvector(whole, Double8)) * kDigitBase;
  }
}

MOE4_TARGET std::uint32_t used_digits(const float* x, double inverse_unit) {
  std::uint32_t used = 0;
  for (int part = 0; part < 4; ++part) {
    Double8 rest;
    rest_of(x + 8 * part, inverse_unit, 0, rest);
    for (int digit = 0; digit < 32; ++digit) {
      const Word8 whole = __builtin_convertvector(rest, Word8);
      rest = rest - __builtin_convertvector(whole, Double8);
      std::int32_t digits = 0;
      bool more = false;
      for (int k = 0; k < 8; ++k) {
        digits |= whole[k];
        more = more || rest[k] != 0;
      }
      used |= std::uint32_t{digits != 0} << digit;
      if (!more) break;
      rest = rest * kDigitBase;
    }
  }
  return used;
}

MOE4_TARGET void cut_digits(const float* x, double inverse_unit, int k, std::int32_t* out) {
  for (int half = 0; half < 2; ++half) {
    Double8 even;
    Double8 odd;
    rest_of(x + 8 * half, inverse_unit, k, even);
    rest_of(x + 16 + 8 * half, inverse_unit, k, odd);
    const Word8 low = __builtin_convertvector(even, Word8) & 0xFFFF;
    const Word8 pairs = low | (__builtin_convertvector(odd, Word8) << 16);
    std::memcpy(out + 8 * half, &pairs, sizeof(pairs));
  }
}
