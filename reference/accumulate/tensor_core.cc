#include "reference/accumulate/tensor_core.h"

#include <algorithm>
#include <array>
#include <bit>

#include "reference/formats/float_format.h"

namespace moe4 {
namespace {

constexpr std::size_t kMaxProducts = 16;
constexpr std::uint32_t kNan = 0x7FFFFFFF;  // ACC-8

// ACC-9 for any of the three formats.
template <FloatFormat kFormat>
TensorOperand taken_apart(std::uint32_t bits) {
  TensorOperand operand;
  const bool negative = (bits & kFormat.sign_bit()) != 0;
  const auto mantissa = static_cast<std::int32_t>(bits & kFormat.mantissa_mask());
  const int field = static_cast<int>((bits & kFormat.infinity()) >> kFormat.mantissa_bits);
  if ((bits & kFormat.infinity()) == kFormat.infinity()) {
    operand.nan = mantissa != 0;
    operand.inf = mantissa != 0 ? 0 : negative ? 2 : 1;
    return operand;
  }
  const std::int32_t significand = field == 0 ? mantissa : mantissa | (1 << kFormat.mantissa_bits);
  operand.significand = negative ? -significand : significand;
  operand.exponent = static_cast<std::int16_t>(std::max(field, 1) - kFormat.bias());
  return operand;
}

// ACC-11: a term in units of the grid, cut toward zero. significand is in units of 2^(exponent - lsb); below
// is the largest exponent less this one, not negative. A term has at most 2 + F <= 27 bits before the point
// of the grid.
std::int32_t cut(std::int32_t significand, int below, int fraction_bits, int lsb) {
  const std::uint32_t magnitude = static_cast<std::uint32_t>(significand < 0 ? -significand : significand);
  const auto kept = static_cast<std::int32_t>((magnitude << (fraction_bits - lsb)) >> std::min(below, 31));
  return significand < 0 ? -kept : kept;
}

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

bool is_zero(const TensorOperand& operand) {
  return operand.significand == 0 && operand.inf == 0 && operand.nan == 0;
}

// The infinity of a product, 0 if there is none. Precondition: neither is NaN, and not Inf·0.
std::uint8_t infinity_of(const TensorOperand& a, const TensorOperand& b) {
  if (a.inf == 0 && b.inf == 0) return 0;
  const bool negative = (a.inf == 2 || a.significand < 0) != (b.inf == 2 || b.significand < 0);
  return negative ? 2 : 1;
}

// ACC-8. Precondition: an operand or c is not finite.
std::uint32_t special_sum(const TensorOperand& c, std::span<const TensorOperand> a,
                          std::span<const TensorOperand> b) {
  bool nan = c.nan != 0;
  std::uint8_t infinities = c.inf;
  for (std::size_t k = 0; k < a.size(); ++k) {
    nan = nan || a[k].nan != 0 || b[k].nan != 0;
    nan = nan || (a[k].inf != 0 && is_zero(b[k])) || (b[k].inf != 0 && is_zero(a[k]));
    infinities |= infinity_of(a[k], b[k]);
  }
  if (nan || infinities == 3) return kNan;
  return infinities == 2 ? 0xFF800000 : 0x7F800000;
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
  const std::size_t count = a.size();
  const TensorOperand accumulator = taken_apart<kF32>(c);
  const int exponent_of_c = accumulator.significand == 0 ? unit.zero_exponent : accumulator.exponent;
  std::array<std::int32_t, kMaxProducts> product;
  std::array<std::int32_t, kMaxProducts> exponent;
  int largest = exponent_of_c;
  unsigned special = accumulator.inf | accumulator.nan;
  for (std::size_t k = 0; k < count; ++k) {
    product[k] = a[k].significand * b[k].significand;
    exponent[k] = product[k] == 0 ? unit.zero_exponent : a[k].exponent + b[k].exponent;  // ACC-10
    largest = std::max(largest, exponent[k]);
    special |= a[k].inf | a[k].nan | b[k].inf | b[k].nan;
  }
  if (special != 0) return special_sum(accumulator, a, b);

  const int fraction_bits = unit.fraction_bits;
  const int product_lsb = 2 * (operands == Dtype::kBF16 ? kBF16 : kF16).mantissa_bits;
  std::int64_t sum = cut(accumulator.significand, largest - exponent_of_c, fraction_bits, kF32.mantissa_bits);
  for (std::size_t k = 0; k < count; ++k) {
    sum += cut(product[k], largest - exponent[k], fraction_bits, product_lsb);
  }
  return cut_to_f32(sum, largest - fraction_bits);
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
