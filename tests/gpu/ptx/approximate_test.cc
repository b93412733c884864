// Approximate functions and division: special values and error bounds.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>

#include "tests/gpu/ptx/operands.h"

namespace moe4::ptx::test {
namespace {

// The bound of PTX ISA 9.1 (sections 9.7.3.8 and 9.7.3.13 to 9.7.3.22) over a range of operands; the table of
// docs/executor.md has the same. ulp: of the correctly rounded result. Special values by the ISA's tables, a
// NaN result written as 0x7fffffff.
struct Approximate {
  const char* opcode;
  long double (*function)(long double);
  double low, high;  // operands drawn from here
  enum class Bound { kUlp, kRelative, kAbsolute } bound;
  double size;
  std::vector<std::pair<Bits, Bits>> special;
};

double allowed(const Approximate& f, long double exact) {
  const float rounded = static_cast<float>(exact);
  const double ulp =
      std::abs(static_cast<double>(rounded) - static_cast<double>(std::nextafter(rounded, INFINITY)));
  switch (f.bound) {
    case Approximate::Bound::kUlp:
      return f.size * ulp;
    case Approximate::Bound::kRelative:
      return f.size * static_cast<double>(std::abs(exact));
    case Approximate::Bound::kAbsolute:
      return f.size;
  }
  return 0;
}

TEST(Approximate, Functions) {
  constexpr Bits kZero = 0, kMinusZero = 0x80000000, kInf = 0x7f800000, kMinusInf = 0xff800000,
                 kNan = 0x7fffffff, kOne = 0x3f800000;
  using Bound = Approximate::Bound;
  const double pi = 3.14159265358979;
  const auto log2 = [](long double x) { return std::log2(x); };
  const auto sine = [](long double x) { return std::sin(x); };
  const auto cosine = [](long double x) { return std::cos(x); };
  const Approximate functions[] = {
      {"rcp.approx.f32",
       [](long double x) { return 1 / x; },
       1e-3,
       1e3,
       Bound::kUlp,
       1,
       {{kZero, kInf}, {kMinusZero, kMinusInf}, {kInf, kZero}, {kMinusInf, kMinusZero}, {kNan, kNan}}},
      {"sqrt.approx.f32",
       [](long double x) { return std::sqrt(x); },
       0,
       1e9,
       Bound::kRelative,
       0x1p-23,
       {{kZero, kZero}, {kMinusZero, kMinusZero}, {kInf, kInf}, {0xbf800000, kNan}, {kNan, kNan}}},
      {"rsqrt.approx.f32",
       [](long double x) { return 1 / std::sqrt(x); },
       1e-9,
       1e9,
       Bound::kRelative,
       std::exp2(-22.9),
       {{kZero, kInf}, {kMinusZero, kMinusInf}, {kInf, kZero}, {0xbf800000, kNan}, {kNan, kNan}}},
      {"ex2.approx.f32",
       [](long double x) { return std::exp2(x); },
       -140,
       127,
       Bound::kUlp,
       2,
       {{kZero, kOne}, {kMinusZero, kOne}, {kInf, kInf}, {kMinusInf, kZero}, {kNan, kNan}}},
      {"lg2.approx.f32",
       log2,
       0.5,
       2,
       Bound::kAbsolute,
       0x1p-22,
       {{kZero, kMinusInf}, {kMinusZero, kMinusInf}, {kInf, kInf}, {0xbf800000, kNan}, {kNan, kNan}}},
      {"lg2.approx.f32", log2, 2, 1e30, Bound::kRelative, 0x1p-22, {}},
      {"lg2.approx.f32", log2, 1e-38, 0.5, Bound::kRelative, 0x1p-22, {}},
      {"sin.approx.f32",
       sine,
       -2 * pi,
       2 * pi,
       Bound::kAbsolute,
       std::exp2(-20.5),
       {{kInf, kNan}, {kMinusInf, kNan}, {kNan, kNan}, {kZero, kZero}, {kMinusZero, kMinusZero}}},
      {"sin.approx.f32", sine, -100 * pi, 100 * pi, Bound::kAbsolute, std::exp2(-14.7), {}},
      {"cos.approx.f32",
       cosine,
       -2 * pi,
       2 * pi,
       Bound::kAbsolute,
       std::exp2(-20.5),
       {{kInf, kNan}, {kMinusInf, kNan}, {kNan, kNan}, {kZero, kOne}, {kMinusZero, kOne}}},
      {"cos.approx.f32", cosine, -100 * pi, 100 * pi, Bound::kAbsolute, std::exp2(-14.7), {}},
      {"tanh.approx.f32",
       [](long double x) { return std::tanh(x); },
       -9,
       9,
       Bound::kRelative,
       0x1p-11,
       {{kZero, kZero},
        {kMinusZero, kMinusZero},
        {kInf, kOne},
        {kMinusInf, 0xbf800000},
        {0x00000123, 0x00000123},
        {kNan, kNan}}}};
  Lcg random(77);
  for (const Approximate& f : functions) {
    std::vector<Row> rows;
    for (int i = 0; i < 1000; ++i) {
      const double x = f.low + (f.high - f.low) * (random.next32() / 4294967296.0);
      rows.push_back({std::bit_cast<std::uint32_t>(static_cast<float>(x))});
    }
    const std::vector<Row> results = evaluate(instruction(f.opcode, "f32", {"f32"}), rows);
    double worst = 0;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const long double exact = f.function(std::bit_cast<float>(static_cast<std::uint32_t>(rows[i][0])));
      const float got = std::bit_cast<float>(static_cast<std::uint32_t>(results[i][0]));
      const double error = static_cast<double>(std::abs(exact - got));
      worst = std::max(worst, error / (allowed(f, exact) + 1e-300));
    }
    EXPECT_LE(worst, 1) << f.opcode;
    if (f.special.empty()) continue;
    std::vector<Row> special;
    for (const auto& [in, out] : f.special) special.push_back({in});
    expect_model(instruction(f.opcode, "f32", {"f32"}), special, [&f](const Row& r) -> std::vector<Want> {
      for (const auto& [in, out] : f.special)
        if (in == r[0]) return {is_nan(kF32, out) ? Want::nan() : Want(out)};
      return {Want::anything()};
    });
  }
}

TEST(Approximate, Division) {
  std::vector<Row> rows;
  Lcg random(78);
  for (int i = 0; i < 1000; ++i) rows.push_back({near_one(random, kF32, 30), near_one(random, kF32, 30)});
  for (const char* opcode : {"div.approx.f32", "div.full.f32", "div.approx.ftz.f32"}) {
    const std::vector<Row> results = evaluate(instruction(opcode, "f32", {"f32", "f32"}), rows);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const float x = std::bit_cast<float>(static_cast<std::uint32_t>(rows[i][0]));
      const float y = std::bit_cast<float>(static_cast<std::uint32_t>(rows[i][1]));
      const float rounded = x / y;
      const double unit = std::abs(static_cast<double>(rounded) - std::nextafter(rounded, INFINITY));
      ASSERT_LE(std::abs(std::bit_cast<float>(static_cast<std::uint32_t>(results[i][0])) -
                         static_cast<double>(x) / y),
                2 * unit)
          << opcode;
    }
  }
}

// A divisor beyond 2^126 gives zero, whatever the quotient; div.full has the whole range.
TEST(Approximate, DivisionByLargeNumbers) {
  constexpr Bits kHuge = 0x7f000000, kMinusHuge = 0xff000000;  // ±2^127
  const std::vector<std::array<Bits, 3>> table = {
      {0x7f000000, kHuge, 0},          {0x7f000000, kMinusHuge, 0x80000000},
      {0xff7fffff, kHuge, 0x80000000}, {0x7f800000, kHuge, 0x7fffffff},
      {0x7fffffff, kHuge, 0x7fffffff}, {0x7e800000, 0x7e800000, 0x3f800000}};
  for (const auto& [a, b, result] : table) {
    const Bits got = evaluate(instruction("div.approx.f32", "f32", {"f32", "f32"}), {{a, b}}).at(0).at(0);
    EXPECT_EQ(got, result) << std::hex << a << " / " << b;
  }
  EXPECT_EQ(evaluate(instruction("div.full.f32", "f32", {"f32", "f32"}), {{kHuge, kHuge}}).at(0).at(0),
            0x3f800000u);
}

// The FP64 forms have no bound: upper words, and a NaN of their own.
TEST(Approximate, UpperWords) {
  const std::vector<std::array<Bits, 3>> table = {
      {0x4000000000000000, 0x3fe0000000000000, 0x3fe6a09e00000000},
      {0x7ff0000000000000, 0, 0},
      {0x7ff8000000000000, 0x7fffffff00000000, 0x7fffffff00000000},
      {0x0000000000000001, 0x7ff0000000000000, 0x7ff0000000000000},
      {0xfff0000000000000, 0x8000000000000000, 0x7fffffff00000000}};
  for (const auto& [a, reciprocal, root] : table) {
    EXPECT_EQ(evaluate(instruction("rcp.approx.ftz.f64", "f64", {"f64"}), {{a}}).at(0).at(0), reciprocal)
        << std::hex << a;
    EXPECT_EQ(evaluate(instruction("rsqrt.approx.ftz.f64", "f64", {"f64"}), {{a}}).at(0).at(0), root)
        << std::hex << a;
  }
}

}  // namespace
}  // namespace moe4::ptx::test
