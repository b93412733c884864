// The float environment of this very process, and planted faults that the canary must catch.
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#if defined(__SSE2__)
#include <pmmintrin.h>
#include <xmmintrin.h>
#endif

#include "reference/arithmetic/canary.h"

namespace moe4::test {
namespace {

TEST(Canary, ThisProcessIsSound) {
  const Status error = check_float_environment();
  EXPECT_FALSE(error.has_value()) << error->message();
}

// The library and its tests are compiled apart: the same question to this translation unit.
TEST(Canary, ThisTranslationUnitDoesNotContract) {
  const volatile float a = 0x1.001p0F;
  const volatile float c = -0x1.002p0F;
  const volatile double da = 0x1.0000002p0;
  const volatile double dc = -0x1.0000004p0;
  const float fa = a;
  const float fc = c;
  const double ga = da;
  const double gc = dc;
  EXPECT_EQ(fa * fa + fc, 0.0F);
  EXPECT_EQ(ga * ga + gc, 0.0);
}

TEST(Canary, ContractionIsCaught) {
  FloatProbes probes = measure_float_probes();
  probes.contraction_f32 = std::fma(0x1.001p0F, 0x1.001p0F, -0x1.002p0F);
  ASSERT_TRUE(judge_float_probes(probes).has_value());
  EXPECT_EQ(
      judge_float_probes(probes)->message(),
      "float environment: value contraction_f32 = 0x1p-24 instead of 0x0p+0: a product and a sum are two "
      "roundings (no contraction to FMA)");
  probes = measure_float_probes();
  probes.contraction_f64 = std::fma(0x1.0000002p0, 0x1.0000002p0, -0x1.0000004p0);
  ASSERT_TRUE(judge_float_probes(probes).has_value());
  EXPECT_NE(judge_float_probes(probes)->value.find("contraction_f64 = 0x1p-54"), std::string::npos);
}

TEST(Canary, OtherRoundingModesAreCaught) {
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    ASSERT_EQ(std::fesetround(mode), 0);
    const Status error = check_float_environment();
    ASSERT_EQ(std::fesetround(FE_TONEAREST), 0);
    ASSERT_TRUE(error.has_value()) << mode;
    EXPECT_EQ(error->rule, "the rounding mode is to nearest even");
  }
  EXPECT_FALSE(check_float_environment().has_value());
}

#if defined(__SSE2__)
TEST(Canary, FlushToZeroIsCaught) {
  _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
  const Status flushed = check_float_environment();
  _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_OFF);
  _MM_SET_DENORMALS_ZERO_MODE(_MM_DENORMALS_ZERO_ON);
  const Status ignored = check_float_environment();
  _MM_SET_DENORMALS_ZERO_MODE(_MM_DENORMALS_ZERO_OFF);
  ASSERT_TRUE(flushed.has_value());
  ASSERT_TRUE(ignored.has_value());
  EXPECT_NE(flushed->rule.find("flush-to-zero"), std::string::npos);
  EXPECT_NE(ignored->rule.find("denormals-are-zero"), std::string::npos);
  EXPECT_FALSE(check_float_environment().has_value());
}
#endif

}  // namespace
}  // namespace moe4::test
