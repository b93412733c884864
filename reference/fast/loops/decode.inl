// The weights of one group in the order of a group (kernels.h), from the 16 values that a code can have
// there.

// Code 0..15 of E2M1 (FMT-1) and of INT4 (INT-1).
alignas(64) constexpr float kE2M1[16] = {0.0F,  0.5F,  1.0F,  1.5F,  2.0F,  3.0F,  4.0F,  6.0F,
                                         -0.0F, -0.5F, -1.0F, -1.5F, -2.0F, -3.0F, -4.0F, -6.0F};
alignas(64) constexpr float kInt4[16] = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};

inline float scale_of_bits(const std::uint8_t* scales, std::int64_t g) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, scales + 2 * g, 2);
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

#if MOE4_VECTOR_BYTES == 64

// INT-4: q·s is exact in F32 but for overflow to the infinity that it would round to; its BF16 is its upper
// half, to nearest even.
MOE4_TARGET inline __m512 int4_values(float scale) {
  const __m512 exact = _mm512_mul_ps(_mm512_load_ps(kInt4), _mm512_set1_ps(scale));
  const __m512i bits = _mm512_castps_si512(exact);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
  return _mm512_castsi512_ps(_mm512_and_si512(rounded, _mm512_set1_epi32(static_cast<int>(0xFFFF0000))));
}

MOE4_TARGET inline void lookup(const std::uint8_t* codes, __m512 values, float* out) {
  const __m512i bytes = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes)));
  _mm512_store_ps(out, _mm512_permutexvar_ps(bytes, values));  // uses the low four bits
  _mm512_store_ps(out + 16, _mm512_permutexvar_ps(_mm512_srli_epi32(bytes, 4), values));
}

MOE4_TARGET inline void lookup(const std::uint8_t* codes, __m512d low, __m512d high, double* out) {
  const __m512i bytes0 = _mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes)));
  const __m512i bytes1 = _mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes + 8)));
  _mm512_store_pd(out, _mm512_permutex2var_pd(low, bytes0, high));
  _mm512_store_pd(out + 8, _mm512_permutex2var_pd(low, bytes1, high));
  _mm512_store_pd(out + 16, _mm512_permutex2var_pd(low, _mm512_srli_epi64(bytes0, 4), high));
  _mm512_store_pd(out + 24, _mm512_permutex2var_pd(low, _mm512_srli_epi64(bytes1, 4), high));
}

MOE4_TARGET inline __m512d low_half(__m512 v) { return _mm512_cvtps_pd(_mm512_castps512_ps256(v)); }
MOE4_TARGET inline __m512d high_half(__m512 v) { return _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1)); }

MOE4_TARGET inline void decode_group(const WeightRows& w, std::int64_t n, std::int64_t g, double* out) {
  const std::uint8_t* const codes = w.codes[n] + 16 * g;
  if (w.format == WeightFormat::kMxfp4) {
    const __m512 halves = _mm512_load_ps(kE2M1);
    const __m512d scale = _mm512_set1_pd(w.scale_of_byte[w.scales[n][g]]);
    lookup(codes, _mm512_mul_pd(low_half(halves), scale), _mm512_mul_pd(high_half(halves), scale), out);
  } else {
    const __m512 values = int4_values(scale_of_bits(w.scales[n], g));
    lookup(codes, low_half(values), high_half(values), out);
  }
}

MOE4_TARGET inline void decode_group(const WeightRows& w, std::int64_t n, std::int64_t g, float* out) {
  const std::uint8_t* const codes = w.codes[n] + 16 * g;
  if (w.format == WeightFormat::kMxfp4) {
    const auto scale = static_cast<float>(w.scale_of_byte[w.scales[n][g]]);
    lookup(codes, _mm512_mul_ps(_mm512_load_ps(kE2M1), _mm512_set1_ps(scale)), out);
  } else {
    lookup(codes, int4_values(scale_of_bits(w.scales[n], g)), out);
  }
}

#elif MOE4_VECTOR_BYTES == 32

MOE4_TARGET inline void put(__m256 values, float* out) { _mm256_store_ps(out, values); }
MOE4_TARGET inline void put(__m256 values, double* out) {
  _mm256_store_pd(out, _mm256_cvtps_pd(_mm256_castps256_ps128(values)));
  _mm256_store_pd(out + 4, _mm256_cvtps_pd(_mm256_extractf128_ps(values, 1)));
}

// Eight small integers times the scale.
MOE4_TARGET inline void put_scaled(__m256i integers, double scale, float* out) {
  put(_mm256_mul_ps(_mm256_cvtepi32_ps(integers), _mm256_set1_ps(static_cast<float>(scale))), out);
}
MOE4_TARGET inline void put_scaled(__m256i integers, double scale, double* out) {
  const __m256d factor = _mm256_set1_pd(scale);
  _mm256_store_pd(out, _mm256_mul_pd(_mm256_cvtepi32_pd(_mm256_castsi256_si128(integers)), factor));
  _mm256_store_pd(out + 4, _mm256_mul_pd(_mm256_cvtepi32_pd(_mm256_extracti128_si256(integers, 1)), factor));
}

// INT-4: q·s is exact in F32 but for overflow to the infinity that it would round to; its BF16 is its upper
// half, to nearest even.
template <class T>
MOE4_TARGET inline void put_int4(__m256i q, __m256 scale, T* out) {
  const __m256i bits = _mm256_castps_si256(_mm256_mul_ps(_mm256_cvtepi32_ps(q), scale));
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF)));
  const __m256i cut = _mm256_and_si256(rounded, _mm256_set1_epi32(static_cast<int>(0xFFFF0000)));
  put(_mm256_castsi256_ps(cut), out);
}

template <class T>
MOE4_TARGET inline void decode_group(const WeightRows& w, std::int64_t n, std::int64_t g, T* out) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(w.codes[n] + 16 * g));
  const __m128i nibble = _mm_set1_epi8(15);
  const __m128i codes[2] = {_mm_and_si128(bytes, nibble), _mm_and_si128(_mm_srli_epi16(bytes, 4), nibble)};
  if (w.format == WeightFormat::kMxfp4) {
    const __m128i halves = _mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);
    const double scale = 0.5 * w.scale_of_byte[w.scales[n][g]];
    for (int part = 0; part < 2; ++part) {
      const __m128i values = _mm_shuffle_epi8(halves, codes[part]);
      put_scaled(_mm256_cvtepi8_epi32(values), scale, out + 16 * part);
      put_scaled(_mm256_cvtepi8_epi32(_mm_srli_si128(values, 8)), scale, out + 16 * part + 8);
    }
  } else {
    const __m256 scale = _mm256_set1_ps(scale_of_bits(w.scales[n], g));
    for (int part = 0; part < 2; ++part) {
      const __m128i values = _mm_sub_epi8(codes[part], _mm_set1_epi8(8));
      put_int4(_mm256_cvtepi8_epi32(values), scale, out + 16 * part);
      put_int4(_mm256_cvtepi8_epi32(_mm_srli_si128(values, 8)), scale, out + 16 * part + 8);
    }
  }
}

#else

MOE4_TARGET inline float to_bf16(float exact) {
  std::uint32_t bits = std::bit_cast<std::uint32_t>(exact);
  bits += 0x7FFF + ((bits >> 16) & 1);
  return std::bit_cast<float>(bits & 0xFFFF0000);
}

template <class T>
MOE4_TARGET inline void decode_group(const WeightRows& w, std::int64_t n, std::int64_t g, T* out) {
  T values[16];
  if (w.format == WeightFormat::kMxfp4) {
    const auto scale = static_cast<T>(w.scale_of_byte[w.scales[n][g]]);
    for (int code = 0; code < 16; ++code) values[code] = static_cast<T>(kE2M1[code]) * scale;
  } else {
    // INT-4: q·s is exact in F32 but for overflow to the infinity that it would round to.
    const float scale = scale_of_bits(w.scales[n], g);
    for (int code = 0; code < 16; ++code) values[code] = static_cast<T>(to_bf16(kInt4[code] * scale));
  }
  const std::uint8_t* const codes = w.codes[n] + 16 * g;
  for (int byte = 0; byte < 16; ++byte) {
    out[byte] = values[codes[byte] & 15];
    out[16 + byte] = values[codes[byte] >> 4];
  }
}

#endif
