#include "reference/profile/int4_dequant.h"

#include <array>
#include <bit>
#include <string>

#include "reference/accumulate/exact_sum.h"
#include "reference/arithmetic/product.h"
#include "reference/arithmetic/round.h"

namespace moe4 {
namespace {

constexpr std::array<Int4OrderInfo, 11> kOrders = {{
    {Int4Order::kNorm, "norm", "RNE_bf16(q*s)"},
    {Int4Order::kFma, "fma", "RNE_bf16((128+c)*s + RNE_bf16(-136*s))"},
    {Int4Order::kTwoRoundings, "two_roundings", "RNE_bf16(RNE_bf16(c*s) - RNE_bf16(8*s))"},
    {Int4Order::kTruncate, "truncate", "upper 16 bits of RNE_f32(q*s)"},
    {Int4Order::kTiesAway, "ties_away", "q*s to the nearest bf16, ties away from zero"},
    {Int4Order::kF32Scale, "f32_scale", "RNE_bf16(q*s), s in f32"},
    {Int4Order::kF16Multiply, "f16_multiply", "RNE_bf16(RNE_f16(q*RNE_f16(s)))"},
    {Int4Order::kZeroPoint7, "zero_point_7", "RNE_bf16((c-7)*s)"},
    {Int4Order::kTwosComplement, "twos_complement", "RNE_bf16(q'*s), q' = c < 8 ? c : c-16"},
    {Int4Order::kAccumulatorScale, "accumulator_scale", "q; s multiplies the sum of a group"},
    {Int4Order::kExactW, "exactw", "q*s, not rounded"},
}};

// Sums of two numbers that are multiples of 2^-133 and at most 2^137.
using PairSum = ExactSum<5, -133>;

ExactValue rounded(const FloatFormat& format, const ExactValue& value) {
  return decode_float(format, round_to(format, value));
}

ExactValue rounded_sum(const ExactValue& a, const ExactValue& b) {
  PairSum sum;
  sum.add(a);
  sum.add(b);
  return decode_float(kBF16, sum.round(kBF16));
}

ExactValue negated(ExactValue value) {
  value.negative = !value.negative;
  return value;
}

// As if a bit of a fraction lay below every number: a tie is then above the half, and nothing else changes.
ExactValue rounded_ties_away(const ExactValue& value) {
  if (!value.is_finite() || value.is_zero()) return rounded(kBF16, value);
  const int left = std::countl_zero(value.significand);
  const WideMagnitude above = {value.significand << left, value.exponent - left, true};
  return decode_float(kBF16, round_to(kBF16, value.negative, above));
}

ExactValue truncated(const ExactValue& value) { return decode_float(kBF16, round_to(kF32, value) >> 16); }

ExactValue weight_of(int c, const ExactValue& s, Int4Order order) {
  const ExactValue exact = product(integer_value(c - kInt4ZeroPoint), s);
  switch (order) {
    case Int4Order::kNorm:
    case Int4Order::kF32Scale:
      return rounded(kBF16, exact);
    case Int4Order::kFma:
      return rounded_sum(product(integer_value(128 + c), s), rounded(kBF16, product(integer_value(-136), s)));
    case Int4Order::kTwoRoundings:
      return rounded_sum(rounded(kBF16, product(integer_value(c), s)),
                         negated(rounded(kBF16, product(integer_value(8), s))));
    case Int4Order::kTruncate:
      return truncated(exact);
    case Int4Order::kTiesAway:
      return rounded_ties_away(exact);
    case Int4Order::kF16Multiply:
      return rounded(kBF16, rounded(kF16, product(integer_value(c - kInt4ZeroPoint), rounded(kF16, s))));
    case Int4Order::kZeroPoint7:
      return rounded(kBF16, product(integer_value(c - 7), s));
    case Int4Order::kTwosComplement:
      return rounded(kBF16, product(integer_value(c < 8 ? c : c - 16), s));
    case Int4Order::kAccumulatorScale:
      return integer_value(c - kInt4ZeroPoint);
    case Int4Order::kExactW:
      return exact;
  }
  return exact;
}

Int4Term term_of(Int4Bits code, const ExactValue& scale, Int4Order order) {
  const bool late = order == Int4Order::kAccumulatorScale;  // INT-10
  return {weight_of(code.bits, scale, order), late ? scale : integer_value(1)};
}

}  // namespace

std::span<const Int4OrderInfo> int4_orders() { return kOrders; }

std::string_view name_of(Int4Order order) { return kOrders[static_cast<std::size_t>(order)].name; }

Result<Int4Order> parse_int4_order(std::string_view name) {
  std::string known;
  for (const Int4OrderInfo& info : kOrders) {
    if (info.name == name) return info.order;
    if (!known.empty()) known += ", ";
    known += info.name;
  }
  return Error{"dequant", std::string(name), "INT-9: the orders are " + known};
}

Int4Term dequantise(Int4Bits code, BF16Bits scale, Int4Order order) {
  return term_of(code, decode(scale), order);
}

Int4Term dequantise(Int4Bits code, F32Bits scale, Int4Order order) {
  const ExactValue kept = decode(scale);
  return term_of(code, order == Int4Order::kF32Scale ? kept : rounded(kBF16, kept), order);
}

}  // namespace moe4
