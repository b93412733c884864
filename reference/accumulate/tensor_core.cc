#include "reference/accumulate/tensor_core.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "reference/formats/float_format.h"

// Steps of 8 and 16 have a second version for hosts with AVX2, chosen at run time. The bits are the same.
#if defined(MOE4_HOST_SIMD) && defined(__x86_64__) && defined(__GNUC__)
#define MOE4_AVX2_STEPS 1
#endif

namespace moe4 {
namespace {

constexpr std::size_t kMaxProducts = 16;
constexpr std::uint32_t kNan = 0x7FFFFFFF;  // ACC-8

// ACC-9 for any of the three formats.
template <FloatFormat kFormat>
TensorOperand taken_apart(std::uint32_t bits) {
  const bool negative = (bits & kFormat.sign_bit()) != 0;
  const auto mantissa = static_cast<std::int32_t>(bits & kFormat.mantissa_mask());
  const int field = static_cast<int>((bits & kFormat.infinity()) >> kFormat.mantissa_bits);
  if ((bits & kFormat.infinity()) == kFormat.infinity()) {
    if (mantissa != 0) return {0, TensorOperand::kNan};
    return {negative ? -1 : 1, TensorOperand::kInf};
  }
  const std::int32_t significand = field == 0 ? mantissa : mantissa | (1 << kFormat.mantissa_bits);
  return {negative ? -significand : significand, std::max(field, 1) - kFormat.bias()};
}

// ACC-11: a term in units of the grid, cut toward zero. significand is in units of 2^(exponent - lsb); below
// is the largest exponent less this one, not negative. A term has at most 2 + F <= 27 bits before the point
// of the grid.
std::int32_t cut(std::int32_t significand, int below, int fraction_bits, int lsb) {
  const std::uint32_t magnitude = static_cast<std::uint32_t>(significand < 0 ? -significand : significand);
  const auto kept = static_cast<std::int32_t>((magnitude << (fraction_bits - lsb)) >> std::min(below, 31));
  return significand < 0 ? -kept : kept;
}

// ACC-10, ACC-11: the cut terms, added exactly, in units of 2^grid.
struct Terms {
  std::int64_t sum = 0;
  int grid = 0;
  bool special = false;  // an operand is not finite, and the rest means nothing
};

inline __attribute__((always_inline)) Terms cut_terms(const TensorCore& unit, const TensorOperand& c,
                                                      const TensorOperand* a, const TensorOperand* b,
                                                      std::size_t count, int lsb) {
  const int zero_exponent = unit.zero_exponent;
  const int fraction_bits = unit.fraction_bits;
  const int exponent_of_c = c.significand == 0 ? zero_exponent : c.exponent;
  std::int32_t product[kMaxProducts];
  std::int32_t exponent[kMaxProducts];
  int largest = exponent_of_c;
  int largest_seen = c.exponent;
  for (std::size_t k = 0; k < count; ++k) {
    product[k] = a[k].significand * b[k].significand;
    const int seen = a[k].exponent + b[k].exponent;
    exponent[k] = product[k] == 0 ? zero_exponent : seen;  // ACC-10
    largest = std::max(largest, exponent[k]);
    largest_seen = std::max(largest_seen, seen);
  }
  if (largest_seen >= TensorOperand::kInf / 2) return {0, 0, true};
  std::int64_t sum = cut(c.significand, largest - exponent_of_c, fraction_bits, kF32.mantissa_bits);
  for (std::size_t k = 0; k < count; ++k) sum += cut(product[k], largest - exponent[k], fraction_bits, lsb);
  return {sum, largest - fraction_bits, false};
}

// The same; a loop of known length is a few vector instructions.
Terms cut_terms_plain(const TensorCore& unit, const TensorOperand& c, std::span<const TensorOperand> a,
                      std::span<const TensorOperand> b, int lsb) {
  if (a.size() == 16) return cut_terms(unit, c, a.data(), b.data(), 16, lsb);
  if (a.size() == 8) return cut_terms(unit, c, a.data(), b.data(), 8, lsb);
  return cut_terms(unit, c, a.data(), b.data(), a.size(), lsb);
}

#ifdef MOE4_AVX2_STEPS
__attribute__((target("avx2"))) Terms cut_terms_avx2(const TensorCore& unit, const TensorOperand& c,
                                                     std::span<const TensorOperand> a,
                                                     std::span<const TensorOperand> b, int lsb) {
  if (a.size() == 16) return cut_terms(unit, c, a.data(), b.data(), 16, lsb);
  return cut_terms(unit, c, a.data(), b.data(), 8, lsb);
}

bool use_avx2(std::size_t count) {
  static const bool kSupported = __builtin_cpu_supports("avx2") != 0;
  return kSupported && (count == 16 || count == 8);
}
#endif

// ACC-12: sum * 2^grid as an F32, cut toward zero.
std::uint32_t cut_to_f32(std::int64_t sum, int grid) {
  if (sum == 0) return 0;
  const std::uint32_t sign = sum < 0 ? 0x80000000 : 0;
  const auto magnitude = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
  const int leading = grid + 63 - std::countl_zero(magnitude);
  if (leading > kF32.bias()) return sign | 0x7F800000;
  const int quantum = std::max(leading - kF32.mantissa_bits, kF32.lsb_exponent());
  const int drop = quantum - grid;
  std::uint64_t kept = magnitude;
  if (drop >= 64) {
    kept = 0;
  } else if (drop >= 0) {
    kept >>= drop;
  } else {
    kept <<= -drop;
  }
  const auto field = static_cast<std::uint32_t>(quantum - kF32.lsb_exponent());
  return sign | ((field << kF32.mantissa_bits) + static_cast<std::uint32_t>(kept));
}

using Decoded = std::array<TensorOperand, kMaxProducts>;

std::span<const TensorOperand> decode_into(Decoded& operands, Dtype dtype,
                                           std::span<const std::uint16_t> bits) {
  for (std::size_t k = 0; k < bits.size(); ++k) operands[k] = tensor_operand(dtype, bits[k]);
  return std::span(operands).first(bits.size());
}

bool is_nan(const TensorOperand& operand) { return operand.exponent == TensorOperand::kNan; }
bool is_inf(const TensorOperand& operand) { return operand.exponent == TensorOperand::kInf; }

// ACC-8. Precondition: an operand or c is not finite.
std::uint32_t special_sum(const TensorOperand& c, std::span<const TensorOperand> a,
                          std::span<const TensorOperand> b) {
  bool nan = is_nan(c);
  bool plus_inf = is_inf(c) && c.significand > 0;
  bool minus_inf = is_inf(c) && c.significand < 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    nan = nan || is_nan(a[k]) || is_nan(b[k]);
    if (!is_inf(a[k]) && !is_inf(b[k])) continue;
    nan = nan || a[k].significand == 0 || b[k].significand == 0;  // Inf·0
    const bool negative = (a[k].significand < 0) != (b[k].significand < 0);
    plus_inf = plus_inf || !negative;
    minus_inf = minus_inf || negative;
  }
  if (nan || (plus_inf && minus_inf)) return kNan;
  return minus_inf ? 0xFF800000 : 0x7F800000;
}

}  // namespace

const TensorCore* tensor_core(std::string_view name) {
  for (const TensorCore& unit : tensor_cores()) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

bool multiplies(const TensorCore& unit, Dtype operands) {
  return operands == Dtype::kF16 || (operands == Dtype::kBF16 && unit.bf16);
}

TensorOperand tensor_operand(Dtype operands, std::uint16_t bits) {
  return operands == Dtype::kBF16 ? taken_apart<kBF16>(bits) : taken_apart<kF16>(bits);
}

std::uint32_t tensor_core_step(const TensorCore& unit, Dtype operands, std::uint32_t c,
                               std::span<const TensorOperand> a, std::span<const TensorOperand> b) {
  const int lsb = 2 * (operands == Dtype::kBF16 ? kBF16 : kF16).mantissa_bits;
  const TensorOperand accumulator = taken_apart<kF32>(c);
#ifdef MOE4_AVX2_STEPS
  const Terms terms = use_avx2(a.size()) ? cut_terms_avx2(unit, accumulator, a, b, lsb)
                                         : cut_terms_plain(unit, accumulator, a, b, lsb);
#else
  const Terms terms = cut_terms_plain(unit, accumulator, a, b, lsb);
#endif
  if (terms.special) return special_sum(accumulator, a, b);
  return cut_to_f32(terms.sum, terms.grid);
}

std::uint32_t tensor_core_instruction(const TensorCore& unit, Dtype operands, std::uint32_t c,
                                      std::span<const TensorOperand> a, std::span<const TensorOperand> b) {
  const auto length = static_cast<std::size_t>(unit.products);
  for (std::size_t k = 0; k < a.size(); k += length) {
    const std::size_t count = std::min(length, a.size() - k);
    c = tensor_core_step(unit, operands, c, a.subspan(k, count), b.subspan(k, count));
  }
  return c;
}

void tensor_core_tile(const TensorCore& unit, Dtype operands, const TensorTile& tile) {
  std::vector<TensorOperand> a(tile.rows * tile.k);
  std::vector<TensorOperand> b(tile.columns * tile.k);
  for (std::size_t n = 0; n < a.size(); ++n) a[n] = tensor_operand(operands, tile.a[n]);
  for (std::size_t n = 0; n < b.size(); ++n) b[n] = tensor_operand(operands, tile.b[n]);
  for (std::size_t r = 0; r < tile.rows; ++r) {
    const auto row = std::span(a).subspan(r * tile.k, tile.k);
    for (std::size_t c = 0; c < tile.columns; ++c) {
      std::uint32_t& d = tile.d[r * tile.columns + c];
      d = tensor_core_instruction(unit, operands, d, row, std::span(b).subspan(c * tile.k, tile.k));
    }
  }
}

std::uint32_t tensor_core_chain(const TensorCore& unit, Dtype operands, std::uint32_t c,
                                std::span<const TensorOperand> a, std::span<const TensorOperand> b) {
  const auto length = static_cast<std::size_t>(unit.products);
  const std::size_t whole = a.size() / length * length;
  c = tensor_core_instruction(unit, operands, c, a.first(whole), b.first(whole));
  if (whole == a.size()) return c;
  Decoded last_a{};
  Decoded last_b{};
  std::copy(a.begin() + static_cast<std::ptrdiff_t>(whole), a.end(), last_a.begin());
  std::copy(b.begin() + static_cast<std::ptrdiff_t>(whole), b.end(), last_b.begin());
  return tensor_core_step(unit, operands, c, std::span(last_a).first(length),
                          std::span(last_b).first(length));
}

std::uint32_t tensor_core_step(const TensorCore& unit, Dtype operands, std::uint32_t c,
                               std::span<const std::uint16_t> a, std::span<const std::uint16_t> b) {
  Decoded decoded_a;
  Decoded decoded_b;
  return tensor_core_step(unit, operands, c, decode_into(decoded_a, operands, a),
                          decode_into(decoded_b, operands, b));
}

std::uint32_t tensor_core_instruction(const TensorCore& unit, Dtype operands, std::uint32_t c,
                                      std::span<const std::uint16_t> a, std::span<const std::uint16_t> b) {
  const auto length = static_cast<std::size_t>(unit.products);
  for (std::size_t k = 0; k < a.size(); k += length) {
    const std::size_t count = std::min(length, a.size() - k);
    c = tensor_core_step(unit, operands, c, a.subspan(k, count), b.subspan(k, count));
  }
  return c;
}

}  // namespace moe4
