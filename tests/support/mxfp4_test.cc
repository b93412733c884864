#include "tests/support/slow_model/mxfp4.h"

#include <gtest/gtest.h>

namespace slow_model {
namespace {

constexpr auto kOcp = ScaleNan::kOcp;
constexpr auto kExact = ScaleZero::kExact;

// FMT-1 by its fields s|ee|m, bias 1.
TEST(SlowMxfp4, TheTableFollowsTheFields) {
  for (int code = 0; code < 16; ++code) {
    const int field = code >> 1 & 3;
    const std::uint64_t mantissa = static_cast<std::uint64_t>(code & 1);
    const Dyadic magnitude =
        field == 0 ? Dyadic::scaled(mantissa, -1) : Dyadic::scaled(2 + mantissa, field - 1 - 1);
    EXPECT_EQ(e2m1_value(code), code < 8 ? magnitude : -magnitude) << code;
  }
}

TEST(SlowMxfp4, LowNibbleFirst) {
  const std::uint8_t row[] = {0x21, 0xF4};
  EXPECT_EQ(code_at(row, 0), 1);
  EXPECT_EQ(code_at(row, 1), 2);
  EXPECT_EQ(code_at(row, 2), 4);
  EXPECT_EQ(code_at(row, 3), 15);
}

TEST(SlowMxfp4, ScaleBytes) {
  const auto weight = [](int code, int byte) {
    return weight_of(code, static_cast<std::uint8_t>(byte), kOcp, kExact).value;
  };
  EXPECT_EQ(weight(1, 128), Dyadic::scaled(1, 0));  // byte 0x21 with scale 128 is 1.0, 2.0
  EXPECT_EQ(weight(2, 128), Dyadic::scaled(2, 0));
  EXPECT_EQ(weight(2, 126), Dyadic::scaled(1, -1));
  EXPECT_EQ(weight(1, 0), Dyadic::scaled(1, -128));
  EXPECT_EQ(weight(15, 254), -Dyadic::scaled(6, 127));
  for (int byte = 1; byte < 255; ++byte) {
    EXPECT_EQ(weight(13, byte), weight(13, byte - 1) + weight(13, byte - 1)) << byte;
  }
}

TEST(SlowMxfp4, ScaleByte255ByPolicy) {
  for (int code = 0; code < 16; ++code) {
    const bool zero = code % 8 == 0;
    EXPECT_TRUE(weight_of(code, 255, kOcp, kExact).is_nan());
    EXPECT_EQ(weight_of(code, 255, ScaleNan::kFormula, kExact).value,
              e2m1_value(code) * Dyadic::scaled(1, 128));
    const Extended infinite = weight_of(code, 255, ScaleNan::kInf, kExact);
    EXPECT_EQ(infinite.is_nan(), zero);
    EXPECT_EQ(infinite.sign(), zero ? 0 : code < 8 ? 1 : -1);
  }
}

TEST(SlowMxfp4, ScaleByte0ByPolicy) {
  EXPECT_EQ(weight_of(2, 0, kOcp, kExact).value, Dyadic::scaled(1, -127));
  EXPECT_EQ(weight_of(2, 0, kOcp, ScaleZero::kFlush).value, Dyadic());
  EXPECT_EQ(weight_of(2, 1, kOcp, ScaleZero::kFlush).value, Dyadic::scaled(1, -126));
}

}  // namespace
}  // namespace slow_model
