// Sums of integer products: the weights of a group in units of its scale, the tokens cut into digits of 15
// bits (digit_panel.h). 16 rows of weights lie across a vector, two of their elements a lane.
//
// A weight is at most 2040 units (INT-4: 8·255) or 12 (FMT-1), a digit less than 2^15, so 32 products are
// less than 2^31: no sum of a group overflows.

// RNE of code q times significand M to 8 bits, the weight in units of the lowest bit of a BF16 scale: INT-4.
// Rows of 16 codes, by the sign of the scale and M.
struct Int4Units {
  Int4Units() {
    for (int n = 0; n < 512; ++n) {
      for (int code = 0; code < 16; ++code) {
        const int exact = (code - 8) * (n & 255);
        const int magnitude = exact < 0 ? -exact : exact;
        int drop = 0;
        while (magnitude >> drop >= 256) ++drop;
        const int half = drop == 0 ? 0 : (1 << (drop - 1)) - 1;
        const int rounded = (magnitude + half + (drop == 0 ? 0 : (magnitude >> drop) & 1)) >> drop << drop;
        units[n][code] = static_cast<std::int16_t>((exact < 0) != (n >= 256) ? -rounded : rounded);
      }
    }
  }
  alignas(32) std::int16_t units[512][16];
};
alignas(32) constexpr std::int16_t kE2M1Halves[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                                      0, -1, -2, -3, -4, -6, -8, -12};

// 16x16 words of 32 bits; column j to out[2·j].
MOE4_TARGET inline void transpose(const __m512i (&in)[16], __m512i* out) {
  __m512i blocks[4][4];
#pragma GCC unroll 4
  for (int b = 0; b < 4; ++b) {
    const __m512i a0 = _mm512_unpacklo_epi32(in[4 * b], in[4 * b + 1]);
    const __m512i a1 = _mm512_unpackhi_epi32(in[4 * b], in[4 * b + 1]);
    const __m512i a2 = _mm512_unpacklo_epi32(in[4 * b + 2], in[4 * b + 3]);
    const __m512i a3 = _mm512_unpackhi_epi32(in[4 * b + 2], in[4 * b + 3]);
    blocks[b][0] = _mm512_unpacklo_epi64(a0, a2);
    blocks[b][1] = _mm512_unpackhi_epi64(a0, a2);
    blocks[b][2] = _mm512_unpacklo_epi64(a1, a3);
    blocks[b][3] = _mm512_unpackhi_epi64(a1, a3);
  }
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const __m512i x0 = _mm512_shuffle_i32x4(blocks[0][c], blocks[1][c], 0x44);
    const __m512i x1 = _mm512_shuffle_i32x4(blocks[2][c], blocks[3][c], 0x44);
    const __m512i x2 = _mm512_shuffle_i32x4(blocks[0][c], blocks[1][c], 0xEE);
    const __m512i x3 = _mm512_shuffle_i32x4(blocks[2][c], blocks[3][c], 0xEE);
    out[2 * c] = _mm512_shuffle_i32x4(x0, x1, 0x88);
    out[2 * (c + 4)] = _mm512_shuffle_i32x4(x0, x1, 0xDD);
    out[2 * (c + 8)] = _mm512_shuffle_i32x4(x2, x3, 0x88);
    out[2 * (c + 12)] = _mm512_shuffle_i32x4(x2, x3, 0xDD);
  }
}

// Group g of rows first .. first + 15: out[2·j] has elements 2j and 2j+1 of each, scale[n] the unit of row n.
MOE4_TARGET inline void decode_units(const WeightRows& w, std::int64_t first, std::int64_t g,
                                     const Int4Units& int4, __m512i* out, double* scale) {
  __m512i rows[16];
#pragma GCC unroll 16
  for (int n = 0; n < 16; ++n) {
    const std::uint8_t* const codes = w.codes[first + n] + 16 * g;
    const std::int16_t* units = kE2M1Halves;
    if (w.format == WeightFormat::kMxfp4) {
      scale[n] = 0.5 * w.scale_of_byte[w.scales[first + n][g]];
    } else {
      std::uint16_t bits = 0;
      std::memcpy(&bits, w.scales[first + n] + 2 * g, 2);
      const unsigned field = (bits >> 7) & 255;
      const unsigned normal = field != 0;
      units = int4.units[((bits >> 15) << 8) | (normal << 7) | (bits & 127)];
      scale[n] = std::bit_cast<double>(static_cast<std::uint64_t>(field + (1 - normal) + 1023 - 134) << 52);
    }
    const __m512i bytes = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes)));
    // The low word's index is the low nibble, and a bit of the high one that both halves of the table ignore.
    const __m512i index = _mm512_or_si512(bytes, _mm512_slli_epi32(bytes, 12));
    const __m512i table = _mm512_broadcast_i64x4(_mm256_load_si256(reinterpret_cast<const __m256i*>(units)));
    rows[n] = _mm512_permutexvar_epi16(index, table);
    _mm_prefetch(reinterpret_cast<const char*>(codes + kPrefetchBytes), _MM_HINT_T0);
  }
  transpose(rows, out);
}

// sum += the products of both elements in each lane.
MOE4_TARGET inline __m512i multiply_add_pairs(__m512i sum, __m512i a, __m512i b) {
#ifdef MOE4_VNNI
  return _mm512_dpwssd_epi32(sum, a, b);
#else
  return _mm512_add_epi32(sum, _mm512_madd_epi16(a, b));
#endif
}

// kCount digit rows of one plane against the 32 rows of the tile.
template <int kCount>
MOE4_TARGET inline void digit_tile(const __m512i* weights, const std::int32_t* digits,
                                   const std::int32_t* row, const __m512d (&scale)[4], double* sums) {
  __m512i sum[kCount][2];
#pragma GCC unroll 8
  for (int n = 0; n < kCount; ++n) sum[n][0] = sum[n][1] = _mm512_setzero_si512();
  for (int pair = 0; pair < 16; ++pair) {
    const __m512i w0 = weights[2 * pair];
    const __m512i w1 = weights[2 * pair + 1];
#pragma GCC unroll 8
    for (int n = 0; n < kCount; ++n) {
      const __m512i x = _mm512_set1_epi32(digits[16 * n + pair]);
      sum[n][0] = multiply_add_pairs(sum[n][0], w0, x);
      sum[n][1] = multiply_add_pairs(sum[n][1], w1, x);
    }
  }
#pragma GCC unroll 8
  for (int n = 0; n < kCount; ++n) {
    double* const at = sums + kDigitTileRows * row[n];
#pragma GCC unroll 4
    for (int quarter = 0; quarter < 4; ++quarter) {
      const __m512i half = sum[n][quarter / 2];
      const __m256i words =
          quarter % 2 == 0 ? _mm512_castsi512_si256(half) : _mm512_extracti64x4_epi64(half, 1);
      const __m512d total = _mm512_load_pd(at + 8 * quarter);
      _mm512_store_pd(at + 8 * quarter, _mm512_fmadd_pd(_mm512_cvtepi32_pd(words), scale[quarter], total));
    }
  }
}

MOE4_TARGET void dot_digits(const DigitJob& job) {
  static const Int4Units int4;
  constexpr int kAtOnce = 6;
  std::memset(job.sums, 0, static_cast<std::size_t>(job.rows * kDigitTileRows) * sizeof(double));
  alignas(64) __m512i weights[32];
  alignas(64) double units[kDigitTileRows];
  for (std::int64_t g = 0; g < job.weights.groups; ++g) {
    decode_units(job.weights, 0, g, int4, weights, units);
    decode_units(job.weights, 16, g, int4, weights + 1, units + 16);
    for (std::int64_t p = job.first_plane[g]; p < job.first_plane[g + 1]; ++p) {
      const DigitPlane& plane = job.planes[p];
      __m512d scale[4];
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) {
        scale[k] = _mm512_mul_pd(_mm512_load_pd(units + 8 * k), _mm512_set1_pd(plane.unit));
      }
      std::int64_t n = plane.begin;
      for (; n + kAtOnce <= plane.end; n += kAtOnce) {
        digit_tile<kAtOnce>(weights, job.digits + 16 * n, job.row + n, scale, job.sums);
      }
      const std::int32_t* const digits = job.digits + 16 * n;
      const std::int32_t* const row = job.row + n;
      switch (plane.end - n) {
        case 5:
          digit_tile<5>(weights, digits, row, scale, job.sums);
          break;
        case 4:
          digit_tile<4>(weights, digits, row, scale, job.sums);
          break;
        case 3:
          digit_tile<3>(weights, digits, row, scale, job.sums);
          break;
        case 2:
          digit_tile<2>(weights, digits, row, scale, job.sums);
          break;
        case 1:
          digit_tile<1>(weights, digits, row, scale, job.sums);
          break;
        default:
          break;
      }
    }
  }
  for (std::int64_t r = 0; r < job.rows; ++r) {
    for (std::int64_t k = 0; k < kDigitTileRows; ++k) {
      job.sums[r * kDigitTileRows + k] = job.sums[r * kDigitTileRows + k] * job.unit[r];
    }
  }
}
