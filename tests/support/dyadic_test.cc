#include "tests/support/slow_model/dyadic.h"

#include <gtest/gtest.h>

#include <random>

namespace slow_model {
namespace {

Dyadic from(__int128 n) {
  const bool negative = n < 0;
  const unsigned __int128 magnitude =
      negative ? -static_cast<unsigned __int128>(n) : static_cast<unsigned __int128>(n);
  const Dyadic number = Dyadic::scaled(static_cast<std::uint64_t>(magnitude), 0) +
                        Dyadic::scaled(static_cast<std::uint64_t>(magnitude >> 64), 64);
  return negative ? -number : number;
}

// Signed words of every length up to 62 bits: short ones make carries, borrows and equal operands likely.
class Words {
 public:
  std::int64_t next() {
    const std::uint64_t word = engine_();
    const auto magnitude = static_cast<std::int64_t>((engine_() >> 2) >> (word % 62));
    return (word >> 63) != 0 ? -magnitude : magnitude;
  }

 private:
  std::mt19937_64 engine_{2};
};

TEST(Dyadic, AgreesWithTheMachinesIntegers) {
  Words words;
  for (int n = 0; n < 20000; ++n) {
    const __int128 a = words.next();
    const __int128 b = words.next();
    ASSERT_EQ(from(a) + from(b), from(a + b));
    ASSERT_EQ(from(a) - from(b), from(a - b));
    ASSERT_EQ(from(a) * from(b), from(a * b));
    ASSERT_EQ(from(a) < from(b), a < b);
    ASSERT_EQ(from(a * b) <=> from(b * b), a * b <=> b * b);
    ASSERT_EQ(from(a * b).sign(), a * b < 0 ? -1 : a * b > 0 ? 1 : 0);
  }
}

TEST(Dyadic, ScalingByPowersOfTwoChangesNothingElse) {
  Words words;
  for (long exponent = -1300; exponent <= 1300; exponent += 37) {
    const Dyadic unit = Dyadic::scaled(1, exponent);
    const Dyadic back = Dyadic::scaled(1, -exponent);
    const std::int64_t a = words.next();
    const std::int64_t b = words.next();
    EXPECT_EQ(from(a) * unit + from(b) * unit, from(__int128{a} + b) * unit);
    EXPECT_EQ(from(a) * unit * back, from(a));
    EXPECT_EQ(Dyadic::scaled(3, exponent) + Dyadic::scaled(1, exponent), Dyadic::scaled(1, exponent + 2));
    EXPECT_LT(Dyadic::scaled(1, exponent), Dyadic::scaled(3, exponent - 1));
    EXPECT_GT(-Dyadic::scaled(1, exponent), -Dyadic::scaled(3, exponent - 1));
  }
}

TEST(Dyadic, FarTermsAreKept) {
  const Dyadic tiny = Dyadic::scaled(1, -2300);
  const Dyadic huge = Dyadic::scaled(1, 2300);
  EXPECT_EQ(huge + tiny - huge, tiny);
  EXPECT_EQ((huge + tiny) * (huge - tiny), huge * huge - tiny * tiny);
  EXPECT_LT(huge, huge + tiny);
  EXPECT_GT(huge, huge - tiny);
}

TEST(Dyadic, ZeroHasOneForm) {
  const Dyadic a = Dyadic::scaled(5, 100);
  EXPECT_EQ(a - a, Dyadic());
  EXPECT_EQ(-Dyadic(), Dyadic());
  EXPECT_EQ(-a * Dyadic(), Dyadic());
  EXPECT_EQ(Dyadic::scaled(0, 77), Dyadic());
  EXPECT_EQ((a - a).sign(), 0);
}

}  // namespace
}  // namespace slow_model
