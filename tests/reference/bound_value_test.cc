// BND-4 … BND-15: the value of the bound against the formulas in long double, and its corners.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "reference/bound/bounds.h"
#include "tests/reference/adversarial_data.h"
#include "tests/reference/kernel_simulation.h"
#include "tests/reference/problem.h"

namespace moe4::test {
namespace {

constexpr long double kU = 0x1p-24L;
constexpr long double kAlpha = 0x1p-150L;

Arithmetic arithmetic(const char* order, bool rounded = false, bool ftz = false) {
  Arithmetic a;
  a.order = parse_order(order).value();
  a.product_rounded = rounded;
  a.ftz = ftz;
  return a;
}

OutputInterval only_output(const Problem& problem, const Arithmetic& a) {
  const auto bounds = expert_linear_bounds(linear_inputs(problem.inputs()), problem.policy, a);
  EXPECT_TRUE(bounds.ok());
  return bounds->outputs.at(0);
}

// One row of 64 with codes 1.0 and p = 1: products are the tokens.
Problem row(const std::vector<double>& x, Dtype dtype = Dtype::kF32) {
  Problem problem({.in = static_cast<std::int64_t>(x.size())}, {.x = dtype, .s = dtype});
  for (std::size_t i = 0; i < x.size(); ++i) problem.x(0, static_cast<std::int64_t>(i), x[i]);
  return problem;
}

std::vector<double> floats(std::size_t n, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> x(n);
  for (double& v : x) v = static_cast<double>(static_cast<float>(random.gauss()));
  return x;
}

// Half the distance of the F32 numbers around v (BND-1).
long double half_ulp(long double v) {
  int exponent = 0;
  std::frexp(v, &exponent);
  return v == 0 ? 0.0L : std::ldexp(1.0L, exponent - 25);
}

struct Accumulator {
  long double sum = 0, error = 0;
  void add(long double v, long double error_of_v = 0) {  // BND-4, BND-5
    sum += v;
    const long double e = error + error_of_v;
    error = e + half_ulp(std::fabs(sum) + e) + kAlpha;
  }
};

// BND-9 for one slot with p = 1 and s = 0.
long double whole(long double dot_error, long double dot) {
  return dot_error + 3 * kU / (1 - 3 * kU) * (std::fabs(dot) + dot_error) + 8 * kAlpha;
}

void expect_just_above(double bound, long double formula) {
  EXPECT_GE(static_cast<long double>(bound), formula);
  EXPECT_LE(static_cast<long double>(bound), formula * (1 + 0x1p-22L));
}

TEST(BoundValue, SequentialFormula) {
  const auto x = floats(64, 1);
  Accumulator a;
  for (const double v : x) a.add(v);
  expect_just_above(only_output(row(x), arithmetic("seq")).error, whole(a.error, a.sum));
}

TEST(BoundValue, GroupsFormula) {
  const auto x = floats(96, 2);
  Accumulator total;
  for (std::size_t g = 0; g < 3; ++g) {
    Accumulator block;
    for (std::size_t k = 0; k < 32; ++k) block.add(x[32 * g + k]);
    if (g == 0) {
      total = block;
    } else {
      total.add(block.sum, block.error);
    }
  }
  expect_just_above(only_output(row(x), arithmetic("groups(32)")).error, whole(total.error, total.sum));
}

TEST(BoundValue, LanesFormula) {
  const auto x = floats(64, 3);
  Accumulator lanes[4];
  for (std::size_t i = 0; i < 64; ++i) lanes[(i / 2) % 4].add(x[i]);
  for (const auto& [into, from] : {std::pair{0, 2}, {1, 3}, {0, 1}})
    lanes[into].add(lanes[from].sum, lanes[from].error);
  expect_just_above(only_output(row(x), arithmetic("lanes(4,2)+shfl")).error,
                    whole(lanes[0].error, lanes[0].sum));
}

TEST(BoundValue, RoundedProductsFormula) {
  const auto x = floats(64, 4);
  Accumulator a;
  for (const double v : x) a.add(v, half_ulp(std::fabs(static_cast<long double>(v))) + kAlpha);
  expect_just_above(only_output(row(x), arithmetic("seq", true)).error, whole(a.error, a.sum));
}

TEST(BoundValue, AnyOrderFormula) {
  const auto x = floats(64, 5);
  long double positive = 0;
  long double negative = 0;
  for (const double v : x) (v > 0 ? positive : negative) += std::fabs(static_cast<long double>(v));
  const long double m = std::fmax(positive, negative);
  const long double n = 64;
  const long double products = kU * (positive + negative) + n * kAlpha;
  const long double error = (products + n * kU * m + n * kAlpha) / (1 - n * kU);
  expect_just_above(only_output(row(x), arithmetic("any")).error, whole(error, positive - negative));
}

// F64 tokens: the same with u = 2^-53, and nothing for the double that the bound is computed in.
TEST(BoundValue, AnyOrderFormulaInF64) {
  std::vector<double> x(64);
  Random random(7);
  for (double& v : x) v = random.gauss();
  constexpr long double kWideU = 0x1p-53L;
  long double positive = 0;
  long double negative = 0;
  for (const double v : x) (v > 0 ? positive : negative) += std::fabs(static_cast<long double>(v));
  const long double n = 64;
  const long double dot =
      (kWideU * (positive + negative) + n * kWideU * std::fmax(positive, negative)) / (1 - n * kWideU);
  const long double all = dot + 3 * kWideU * (std::fabs(positive - negative) + dot);
  const double bound = only_output(row(x, Dtype::kF64), arithmetic("any")).error;
  EXPECT_GE(static_cast<long double>(bound), all);
  EXPECT_LE(static_cast<long double>(bound), all * (1 + 0x1p-20L));
}

// A product of a BF16 token needs no rounding of its own.
TEST(BoundValue, ShortProductsCostNothing) {
  const DataSet set = make_data(Data::kGauss, {}, 9);
  const auto fused = expert_linear_bounds(linear_inputs(set.inputs()), {}, arithmetic("seq"));
  const auto rounded = expert_linear_bounds(linear_inputs(set.inputs()), {}, arithmetic("seq", true));
  for (std::size_t k = 0; k < fused->outputs.size(); ++k) {
    EXPECT_NEAR(rounded->outputs[k].error, fused->outputs[k].error, 1e-9 * fused->outputs[k].error);
  }
}

// BND-10: where nothing can round, bits are due from every order.
TEST(BoundValue, ExactDataGivesSingletons) {
  for (const Data kind : {Data::kIntegers, Data::kOneHot}) {
    for (const char* order : {"any", "seq", "groups(32)", "lanes(32,8)+shfl"}) {
      for (const Dtype x : {Dtype::kBF16, Dtype::kF16, Dtype::kF32, Dtype::kF64}) {
        DataSizes sizes;
        sizes.x = x;
        sizes.p = Dtype::kBF16;
        sizes.s = x;
        sizes.top_k = 1;
        DataSet set = make_data(kind, sizes, 21);
        if (kind == Data::kOneHot) {
          for (std::int64_t t = 0; t < sizes.tokens; ++t)
            put(set.latent_tokens, t * sizes.in + sizes.in / 2, 1.0 + 0x1p-7 * static_cast<double>(t));
          for (std::int64_t k = 0; k < sizes.tokens; ++k) put(set.mixture_weights, k, 0.5);
          for (std::int64_t k = 0; k < sizes.tokens * sizes.out; ++k) put(set.shared_output, k, 0.0);
        }
        const auto bounds = expert_linear_bounds(linear_inputs(set.inputs()), {}, arithmetic(order));
        ASSERT_TRUE(bounds.ok());
        EXPECT_EQ(bounds->singleton_share, 1.0)
            << order << " " << name_of(x) << " " << static_cast<int>(kind);
        for (const OutputInterval& y : bounds->outputs) EXPECT_EQ(y.error, 0);
      }
    }
  }
}

// 2^24 and 1 are representable, their sum is not.
TEST(BoundValue, OneBitTooManyIsNotExact) {
  std::vector<double> x(32, 0.0);
  x[0] = 0x1p24;
  x[1] = 1;
  EXPECT_GT(only_output(row(x), arithmetic("seq")).error, 0);
  x[0] = 0x1p24 - 2;
  EXPECT_EQ(only_output(row(x), arithmetic("seq")).error, 0);
}

// BND-10 needs the format's grid: 2^-150 is below F32's smallest number.
TEST(BoundValue, BelowTheGridIsNotExact) {
  std::vector<double> x(32, 0.0);
  x[0] = 0x1p-149;
  Problem problem = row(x);
  EXPECT_EQ(only_output(problem, arithmetic("seq")).error, 0);
  EXPECT_GT(only_output(problem, arithmetic("seq", false, true)).error, 0x1p-149);
  problem.scale(126);
  EXPECT_GT(only_output(problem, arithmetic("seq")).error, 0);
}

TEST(BoundValue, OverflowIsAnnounced) {
  std::vector<double> x(32, 0.0);
  x[0] = 0x1.8p127;
  x[1] = -0x1.0p127;
  EXPECT_FALSE(only_output(row(x), arithmetic("seq")).may_overflow);
  x[1] = 0x1.8p127;
  x[2] = -0x1.8p127;
  const OutputInterval over = only_output(row(x), arithmetic("seq"));
  EXPECT_TRUE(over.may_overflow);
  EXPECT_EQ(over.cls, OutputClass::kFinite);
  EXPECT_EQ(over.exact, std::bit_cast<std::uint32_t>(0x1.8p127F));
  // In two lanes the tall terms never meet before they cancel.
  EXPECT_FALSE(only_output(row(x), arithmetic("lanes(2,1)+seq")).may_overflow);
  EXPECT_TRUE(only_output(row(x), arithmetic("any")).may_overflow);
}

// The product overflows although the output does not.
TEST(BoundValue, OverflowOfTheMixtureIsAnnounced) {
  std::vector<double> x(32, 0.0);
  x[0] = 0x1p100;
  Problem problem = row(x, Dtype::kBF16);
  problem.p({0x1p27});
  EXPECT_FALSE(only_output(problem, arithmetic("seq")).may_overflow);
  problem.p({0x1p28});
  EXPECT_TRUE(only_output(problem, arithmetic("seq")).may_overflow);
}

TEST(BoundValue, NonFiniteOutputsHaveAClass) {
  std::vector<double> x(32, 1.0);
  x[5] = INFINITY;
  EXPECT_EQ(only_output(row(x), arithmetic("seq")).cls, OutputClass::kPlusInf);
  Problem zero_code = row(x);
  zero_code.code(0, 0, 5, 0);
  EXPECT_EQ(only_output(zero_code, arithmetic("seq")).cls, OutputClass::kNan);
  x[5] = NAN;
  const OutputInterval nan = only_output(row(x), arithmetic("seq"));
  EXPECT_EQ(nan.cls, OutputClass::kNan);
  EXPECT_FALSE(nan.may_overflow);
  EXPECT_EQ(nan.lo, nan.exact);
  Problem scale = row(std::vector<double>(32, 1.0));
  scale.scale(0, 0, 0, 255);
  EXPECT_EQ(only_output(scale, arithmetic("any")).cls, OutputClass::kNan);
}

// BND-13: an infinite p takes the sign of d; where rounding leaves that sign open, any non-finite result is
// accepted.
TEST(BoundValue, InfiniteMixtureTimesAnUnsettledSum) {
  auto x = floats(64, 6);
  for (std::size_t i = 0; i < 32; ++i) x[32 + i] = -x[i];
  Problem cancels = row(x);
  cancels.p({INFINITY});
  const OutputInterval open = only_output(cancels, arithmetic("seq"));
  EXPECT_EQ(open.cls, OutputClass::kNan);
  EXPECT_TRUE(open.may_overflow);
  Problem settled = row(std::vector<double>(64, 1.25));
  settled.p({-INFINITY});
  const OutputInterval minus = only_output(settled, arithmetic("seq"));
  EXPECT_EQ(minus.cls, OutputClass::kMinusInf);
  EXPECT_FALSE(minus.may_overflow);
}

// The bound is not idle: 1, then terms of just under half an ulp, each lost. The kernel's error is nine
// tenths of E.
TEST(BoundValue, AKernelCanComeClose) {
  std::vector<double> x(64, 0.98 * 0x1p-24);
  for (double& v : x) v = static_cast<double>(static_cast<float>(v));
  x[0] = 1;
  long double exact = 0;
  for (const double v : x) exact += v;
  const Problem problem = row(x);
  const OutputInterval y = only_output(problem, arithmetic("seq"));
  const Tensor kernel = simulate(problem.inputs(), {parse_order("seq").value()});
  const float got = std::bit_cast<float>(kernel.as<std::uint32_t>()[0]);
  EXPECT_EQ(got, 1.0F);
  EXPECT_GT(exact - got, 0.9L * y.error);
  EXPECT_LE(exact - got, static_cast<long double>(y.error));
}

TEST(BoundValue, NoSlotIsTheSharedOutput) {
  Problem problem({.top_k = 0}, {.x = Dtype::kBF16, .s = Dtype::kF32});
  problem.shared({0x1.01p0});  // halfway between two BF16 numbers
  const OutputInterval y = only_output(problem, arithmetic("any"));
  EXPECT_EQ(y.lo, y.hi);
  EXPECT_EQ(y.exact, 0x3F80U);
}

// F64 shared output, F32 accumulation, BF16 output: just above a tie in F64, a tie after the conversion.
TEST(BoundValue, ConvertedSharedOutputMayRoundTwice) {
  Problem problem({.top_k = 0}, {.x = Dtype::kBF16, .s = Dtype::kF64});
  problem.shared({0x1.0100000000001p0});
  const OutputInterval y = only_output(problem, arithmetic("any"));
  EXPECT_EQ(y.exact, 0x3F81U);
  EXPECT_EQ(y.lo, 0x3F80U);
  EXPECT_EQ(y.hi, 0x3F81U);
}

// F64 tokens beyond binary64's range inside: everything is accepted, nothing crashes.
TEST(BoundValue, BoundlessErrorAcceptsEverything) {
  std::vector<double> x(32, 0x1.8p1023);
  const OutputInterval y = only_output(row(x, Dtype::kF64), arithmetic("any"));
  EXPECT_TRUE(y.may_overflow);
  EXPECT_EQ(y.exact, std::bit_cast<std::uint64_t>(static_cast<double>(INFINITY)));
  EXPECT_EQ(y.lo, std::bit_cast<std::uint64_t>(-static_cast<double>(INFINITY)));
}

TEST(BoundValue, RefusesWhatTheTheoremsDoNotCover) {
  Problem wide({.in = (std::int64_t{1} << 20) + 32});
  const auto bounds = expert_linear_bounds(linear_inputs(wide.inputs()), {}, {});
  ASSERT_FALSE(bounds.ok());
  EXPECT_TRUE(bounds.error().rule.starts_with("BND-15"));
  Problem invalid({.experts = 2});
  invalid.ids({2});
  ASSERT_FALSE(expert_linear_bounds(linear_inputs(invalid.inputs()), {}, {}).ok());
}

TEST(BoundValue, EmptyResult) {
  const auto bounds = expert_linear_bounds(linear_inputs(Problem({.tokens = 0}).inputs()), {}, {});
  ASSERT_TRUE(bounds.ok());
  EXPECT_TRUE(bounds->outputs.empty());
}

// A weak bound judges nothing: at Kimi K3's width most BF16 outputs of a declared order have their bits due.
TEST(BoundValue, DeclaredOrdersAreTight) {
  DataSizes sizes;
  sizes.tokens = 2;
  sizes.experts = 32;
  sizes.in = 3072;
  sizes.out = 32;
  sizes.top_k = 16;
  DataSet set = make_data(Data::kGauss, sizes, 1);
  for (std::int64_t k = 0; k < sizes.tokens * sizes.top_k; ++k) {
    put(set.mixture_weights, k, (0.5 + static_cast<double>((k * 37) % 16) / 16.0) / 16.0);
  }
  for (const auto& [order, least] :
       {std::pair{"seq", 0.60}, {"groups(32)", 0.85}, {"lanes(32,8)+shfl", 0.85}}) {
    const auto bounds = expert_linear_bounds(linear_inputs(set.inputs()), {}, arithmetic(order));
    ASSERT_TRUE(bounds.ok());
    RecordProperty(order, std::to_string(bounds->singleton_share));
    EXPECT_GE(bounds->singleton_share, least) << order;
  }
}

}  // namespace
}  // namespace moe4::test
