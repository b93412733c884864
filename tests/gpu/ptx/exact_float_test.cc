// The host model of the floating-point tests against the host's own arithmetic in its one trusted mode (to
// nearest even), and directed modes against their definition. A model that is wrong would make green mean
// nothing.
#include "tests/gpu/ptx/exact_float.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tests/gpu/ptx/operands.h"

namespace moe4::ptx::test {
namespace {

constexpr Round kNear = Round::kNearestEven;

float f32(Bits bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }
double f64(Bits bits) { return std::bit_cast<double>(bits); }
Bits bits_of(float value) {
  return std::isnan(value) ? quiet_nan(kF32) : std::bit_cast<std::uint32_t>(value);
}
Bits bits_of(double value) {
  return std::isnan(value) ? quiet_nan(kF64) : std::bit_cast<std::uint64_t>(value);
}

TEST(ExactFloat, AgreesWithTheHostToNearestEven) {
  const auto edges32 = float_edges(kF32);
  for (const Row& r : join(pairs(edges32, edges32), random_floats(1, 3000, 2, kF32))) {
    const float a = f32(r[0]), b = f32(r[1]);
    ASSERT_EQ(float_add(kF32, r[0], r[1], kNear), bits_of(a + b));
    ASSERT_EQ(float_sub(kF32, r[0], r[1], kNear), bits_of(a - b));
    ASSERT_EQ(float_mul(kF32, r[0], r[1], kNear), bits_of(a * b));
    ASSERT_EQ(float_div(kF32, r[0], r[1], kNear), bits_of(a / b));
    ASSERT_EQ(float_sqrt(kF32, r[0], kNear), bits_of(std::sqrt(a)));
    ASSERT_EQ(float_integral(kF32, r[0], kNear), bits_of(std::nearbyint(a)));
    ASSERT_EQ(float_convert(kF32, r[0], kF64, kNear), bits_of(static_cast<double>(a)));
  }
  const auto edges64 = float_edges(kF64);
  for (const Row& r : join(pairs(edges64, edges64), random_floats(2, 1000, 2, kF64))) {
    const double a = f64(r[0]), b = f64(r[1]);
    ASSERT_EQ(float_add(kF64, r[0], r[1], kNear), bits_of(a + b));
    ASSERT_EQ(float_mul(kF64, r[0], r[1], kNear), bits_of(a * b));
    ASSERT_EQ(float_div(kF64, r[0], r[1], kNear), bits_of(a / b));
    ASSERT_EQ(float_sqrt(kF64, r[0], kNear), bits_of(std::sqrt(a)));
    ASSERT_EQ(float_fma(kF64, r[0], r[1], r[0], kNear), bits_of(std::fma(a, b, a)));
    ASSERT_EQ(float_convert(kF64, r[0], kF32, kNear), bits_of(static_cast<float>(a)));
  }
}

TEST(ExactFloat, DirectedModesBracketTheExactResult) {
  for (const Row& r : random_floats(3, 2000, 3, kF32)) {
    const Bits down = float_fma(kF32, r[0], r[1], r[2], Round::kDown),
               up = float_fma(kF32, r[0], r[1], r[2], Round::kUp);
    const Bits near = float_fma(kF32, r[0], r[1], r[2], kNear),
               zero = float_fma(kF32, r[0], r[1], r[2], Round::kZero);
    if (is_nan(kF32, near)) continue;
    ASSERT_LE(f32(down), f32(up));
    ASSERT_TRUE(near == down || near == up);
    ASSERT_TRUE(zero == (f32(near) < 0 || std::signbit(f32(near)) ? up : down) || f32(zero) == 0);
    if (down != up && std::isfinite(f32(down)) && f32(down) != 0 && f32(up) != 0) {
      ASSERT_EQ(std::nextafter(f32(down), INFINITY), f32(up));
    }
  }
}

TEST(ExactFloat, HandWorked) {
  EXPECT_EQ(float_convert(kF32, 0x477fefff, kF16, kNear), 0x7bffu);   // just below 65520: largest half
  EXPECT_EQ(float_convert(kF32, 0x477ff000, kF16, kNear), 0x7c00u);   // 65520, the tie: infinity
  EXPECT_EQ(float_convert(kF32, 0x3f808000, kBf16, kNear), 0x3f80u);  // tie to even
  EXPECT_EQ(float_convert(kF32, 0x3f818000, kBf16, kNear), 0x3f82u);
  EXPECT_EQ(float_convert(kF32, 0x3f808000, kBf16, Round::kUp), 0x3f81u);
  EXPECT_EQ(float_convert(kF32, 0xbf808001, kBf16, Round::kZero), 0xbf80u);
  EXPECT_EQ(float_convert(kF32, 0x33000000, kF16, kNear), 0u);  // 2^-25: half of the smallest subnormal
  EXPECT_EQ(float_convert(kF32, 0x33000001, kF16, kNear), 1u);
  EXPECT_EQ(*float_to_integer(kF32, 0x40200000, kNear, -10, 10), 2);  // 2.5
  EXPECT_EQ(*float_to_integer(kF32, 0xc0200000, Round::kDown, -10, 10), -3);
  EXPECT_EQ(*float_to_integer(kF32, 0xff800000, Round::kZero, -10, 10), -10);
  EXPECT_EQ(float_from_integer(16777217, kF32, kNear), 0x4b800000u);
  EXPECT_EQ(float_from_integer(-16777217, kF32, Round::kDown), 0xcb800001u);
}

}  // namespace
}  // namespace moe4::ptx::test
