#include "tests/support/slow_model/int4.h"

namespace slow_model {
namespace {

constexpr NamedInt4Order kOrders[] = {
    {"norm", Int4Order::kNorm},
    {"fma", Int4Order::kFma},
    {"two_roundings", Int4Order::kTwoRoundings},
    {"truncate", Int4Order::kTruncate},
    {"ties_away", Int4Order::kTiesAway},
    {"f32_scale", Int4Order::kF32Scale},
    {"f16_multiply", Int4Order::kF16Multiply},
    {"zero_point_7", Int4Order::kZeroPoint7},
    {"twos_complement", Int4Order::kTwosComplement},
    {"accumulator_scale", Int4Order::kAccumulatorScale},
    {"exactw", Int4Order::kExactW},
};

ShortNumber rounded(const FloatFormat& format, const ShortNumber& number,
                    Rounding rounding = Rounding::kNearestEven) {
  return short_value_of(format, round_to(format, number, rounding));
}

ShortNumber weight(Int4Order order, int code, const ShortNumber& scale) {
  const ShortNumber q = ShortNumber::integer(code - 8);  // INT-1
  switch (order) {
    case Int4Order::kNorm:
    case Int4Order::kF32Scale:
      return rounded(kBf16, q * scale);
    case Int4Order::kFma: {
      const ShortNumber b = rounded(kBf16, ShortNumber::integer(-136) * scale);
      return rounded(kBf16, ShortNumber::integer(128 + code) * scale + b);
    }
    case Int4Order::kTwoRoundings:
      return rounded(kBf16, rounded(kBf16, ShortNumber::integer(code) * scale) +
                                -rounded(kBf16, ShortNumber::integer(8) * scale));
    case Int4Order::kTruncate:
      return rounded(kBf16, q * scale, Rounding::kTowardZero);  // q * scale is an F32 number or beyond them
    case Int4Order::kTiesAway:
      return rounded(kBf16, q * scale, Rounding::kNearestAway);
    case Int4Order::kF16Multiply:
      return rounded(kBf16, rounded(kF16, q * rounded(kF16, scale)));
    case Int4Order::kZeroPoint7:
      return rounded(kBf16, ShortNumber::integer(code - 7) * scale);
    case Int4Order::kTwosComplement:
      return rounded(kBf16, ShortNumber::integer(code < 8 ? code : code - 16) * scale);
    case Int4Order::kAccumulatorScale:
      return q;
    case Int4Order::kExactW:
      return q * scale;
  }
  return ShortNumber::nan();
}

}  // namespace

std::span<const NamedInt4Order> named_int4_orders() { return kOrders; }

int int4_code_at(std::span<const std::uint32_t> row, std::int64_t i) {
  std::uint32_t word = row[static_cast<std::size_t>(i / 8)];
  for (std::int64_t skipped = 0; skipped < i % 8; ++skipped) {
    word /= 16;
  }
  return static_cast<int>(word % 16);  // INT-2
}

Int4Term int4_term(Int4Order order, int code, const ShortNumber& scale) {
  const bool on_accumulator = order == Int4Order::kAccumulatorScale;
  return {weight(order, code, scale), on_accumulator ? scale : ShortNumber::integer(1)};
}

std::uint64_t int4_weight(int code, std::uint64_t scale) {
  return round_to(kBf16, ShortNumber::integer(code - 8) * short_value_of(kBf16, scale));
}

}  // namespace slow_model
