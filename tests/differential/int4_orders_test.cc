// INT4 dequantisation, exhaustively: 16 codes by 65,536 scales, in the norm's order and in every named one,
// the reference against the slow model.
#include <gtest/gtest.h>

#include <bit>
#include <sstream>
#include <string>

#include "reference/linear/int4_weight.h"
#include "reference/profile/int4_dequant.h"
#include "tests/support/slow_model/int4.h"

namespace differential {
namespace {

using slow_model::ShortNumber;

bool same(const moe4::ExactValue& a, const ShortNumber& b) {
  if (a.cls == moe4::ValueClass::kNan) return b.is_nan();
  if (a.cls == moe4::ValueClass::kInf) return b.is_infinite() && a.negative == b.negative;
  if (!b.is_finite() || a.negative != b.negative) return false;
  if (a.significand == 0 || b.magnitude == 0) return a.significand == b.magnitude;
  const int low_a = std::countr_zero(a.significand);
  const int low_b = std::countr_zero(b.magnitude);
  return a.significand >> low_a == b.magnitude >> low_b && a.exponent + low_a == b.exponent + low_b;
}

bool same(const moe4::Int4Term& a, const slow_model::Int4Term& b) {
  return same(a.weight, b.weight) && same(a.group_factor, b.factor);
}

moe4::Int4Bits code_bits(int code) { return {static_cast<std::uint8_t>(code)}; }

// Where the reference's order and a model's differ first, "" if nowhere.
std::string difference(moe4::Int4Order order, slow_model::Int4Order model) {
  for (std::uint32_t scale = 0; scale < 0x10000; ++scale) {
    const moe4::BF16Bits bits{static_cast<std::uint16_t>(scale)};
    const ShortNumber value = slow_model::short_value_of(slow_model::kBf16, scale);
    for (int code = 0; code < 16; ++code) {
      if (!same(moe4::dequantise(code_bits(code), bits, order), slow_model::int4_term(model, code, value))) {
        std::ostringstream text;
        text << "code " << code << ", scale 0x" << std::hex << scale;
        return text.str();
      }
    }
  }
  return "";
}

class Order : public ::testing::TestWithParam<slow_model::NamedInt4Order> {};

TEST_P(Order, IsTheSlowModelsForEveryCodeAndScale) {
  const auto order = moe4::parse_int4_order(GetParam().name);
  ASSERT_TRUE(order.ok()) << order.error().message();
  EXPECT_EQ(difference(*order, GetParam().order), "");
}

// Every other order is told from this one; but f32_scale is the norm where scales are BF16 (INT-9).
TEST_P(Order, IsToldFromTheOthers) {
  const auto order = moe4::parse_int4_order(GetParam().name);
  ASSERT_TRUE(order.ok()) << order.error().message();
  for (const slow_model::NamedInt4Order& other : slow_model::named_int4_orders()) {
    const auto is_norm = [](slow_model::Int4Order o) {
      return o == slow_model::Int4Order::kNorm || o == slow_model::Int4Order::kF32Scale;
    };
    const bool equal = GetParam().order == other.order || (is_norm(GetParam().order) && is_norm(other.order));
    EXPECT_EQ(difference(*order, other.order).empty(), equal) << other.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Int4, Order,
                         ::testing::ValuesIn(slow_model::named_int4_orders().begin(),
                                             slow_model::named_int4_orders().end()),
                         [](const auto& instance) { return std::string(instance.param.name); });

// The page and the reference name the same orders.
TEST(Int4Orders, AreTheNamedOnes) {
  ASSERT_EQ(moe4::int4_orders().size(), slow_model::named_int4_orders().size());
  for (std::size_t n = 0; n < moe4::int4_orders().size(); ++n) {
    EXPECT_EQ(moe4::int4_orders()[n].name, slow_model::named_int4_orders()[n].name);
  }
}

// INT-4 and INT-5 by the function that the norm uses, NaN payload and the sign of zero included.
TEST(Int4Weights, EveryCodeAndScale) {
  for (std::uint32_t scale = 0; scale < 0x10000; ++scale) {
    for (int code = 0; code < 16; ++code) {
      const moe4::BF16Bits weight = moe4::int4_weight(code_bits(code), {static_cast<std::uint16_t>(scale)});
      ASSERT_EQ(weight.bits, slow_model::int4_weight(code, scale)) << "code " << code << " scale " << scale;
    }
  }
}

// Scales that are F32 numbers: 2^19 of them, spread over all encodings, and all that round near a BF16 tie.
TEST(Int4Orders, F32Scales) {
  int rounded_apart = 0;
  for (std::uint32_t n = 0; n < 1u << 19; ++n) {
    const std::uint32_t high = n * 0x9E3779B1u;
    const std::uint32_t low[] = {high & 0xFFFF, 0x7FFF, 0x8000, 0x8001};
    const std::uint32_t bits = (high & 0xFFFF0000u) | low[n % 4];
    const ShortNumber scale = slow_model::short_value_of(slow_model::kF32, bits);
    const int code = static_cast<int>(n / 4 % 16);
    const auto kept = moe4::dequantise(code_bits(code), moe4::F32Bits{bits}, moe4::Int4Order::kF32Scale);
    const auto expected = slow_model::int4_term(slow_model::Int4Order::kF32Scale, code, scale);
    ASSERT_TRUE(same(kept, expected)) << std::hex << bits << " code " << code;
    // The other orders take the scale as BF16 (INT-3).
    const std::uint64_t as_bf16 = slow_model::round_to(slow_model::kBf16, scale);
    const auto norm = slow_model::int4_term(slow_model::Int4Order::kNorm, code,
                                            slow_model::short_value_of(slow_model::kBf16, as_bf16));
    ASSERT_TRUE(same(moe4::dequantise(code_bits(code), moe4::F32Bits{bits}, moe4::Int4Order::kNorm), norm));
    rounded_apart += same(kept, norm) ? 0 : 1;
  }
  EXPECT_GT(rounded_apart, 10000);
}

}  // namespace
}  // namespace differential
