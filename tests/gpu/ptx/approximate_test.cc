// Approximate functions and division: special values and error bounds.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tests/gpu/ptx/operands.h"

namespace moe4::ptx::test {
namespace {

// The approximate functions are bounded, not defined to the bit: special values by the ISA's tables, and the
// ISA's relative error with one bit to spare.
struct Approximate {
  const char* opcode;
  long double (*function)(long double);
  double low, high;  // operands drawn from here
  double relative, absolute;
  std::vector<std::pair<Bits, Bits>> special;  // NaN result written as 0x7fffffff
};

TEST(Approximate, Functions) {
  constexpr Bits kZero = 0, kMinusZero = 0x80000000, kInf = 0x7f800000, kMinusInf = 0xff800000,
                 kNan = 0x7fffffff, kOne = 0x3f800000;
  constexpr double kUlp = 0x1p-23;
  const Approximate functions[] = {
      {"rcp.approx.f32",
       [](long double x) { return 1 / x; },
       1e-3,
       1e3,
       2 * kUlp,
       0,
       {{kZero, kInf}, {kMinusZero, kMinusInf}, {kInf, kZero}, {kMinusInf, kMinusZero}, {kNan, kNan}}},
      {"sqrt.approx.f32",
       [](long double x) { return std::sqrt(x); },
       0,
       1e9,
       4 * kUlp,
       0,
       {{kZero, kZero}, {kMinusZero, kMinusZero}, {kInf, kInf}, {0xbf800000, kNan}, {kNan, kNan}}},
      {"rsqrt.approx.f32",
       [](long double x) { return 1 / std::sqrt(x); },
       1e-9,
       1e9,
       4 * kUlp,
       0,
       {{kZero, kInf}, {kMinusZero, kMinusInf}, {kInf, kZero}, {0xbf800000, kNan}, {kNan, kNan}}},
      {"ex2.approx.f32",
       [](long double x) { return std::exp2(x); },
       -120,
       120,
       4 * kUlp,
       0,
       {{kZero, kOne}, {kMinusZero, kOne}, {kInf, kInf}, {kMinusInf, kZero}, {kNan, kNan}}},
      {"lg2.approx.f32",
       [](long double x) { return std::log2(x); },
       1e-9,
       1e9,
       4 * kUlp,
       0x1p-21,
       {{kZero, kMinusInf}, {kMinusZero, kMinusInf}, {kInf, kInf}, {0xbf800000, kNan}, {kNan, kNan}}},
      {"sin.approx.f32",
       [](long double x) { return std::sin(x); },
       -3.1,
       3.1,
       0,
       0x1p-20,
       {{kInf, kNan}, {kNan, kNan}, {kZero, kZero}}},
      {"cos.approx.f32",
       [](long double x) { return std::cos(x); },
       -3.1,
       3.1,
       0,
       0x1p-20,
       {{kInf, kNan}, {kNan, kNan}, {kZero, kOne}}},
      {"tanh.approx.f32",
       [](long double x) { return std::tanh(x); },
       -9,
       9,
       0x1p-10,
       0,
       {{kZero, kZero}, {kInf, kOne}, {kMinusInf, 0xbf800000}, {kNan, kNan}}}};
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
      worst =
          std::max(worst, error / (f.relative * static_cast<double>(std::abs(exact)) + f.absolute + 1e-300));
    }
    EXPECT_LE(worst, 1) << f.opcode;
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
      const double x = std::bit_cast<float>(static_cast<std::uint32_t>(rows[i][0]));
      const double y = std::bit_cast<float>(static_cast<std::uint32_t>(rows[i][1]));
      ASSERT_LE(std::abs(std::bit_cast<float>(static_cast<std::uint32_t>(results[i][0])) / (x / y) - 1),
                0x1p-21)
          << opcode;
    }
  }
}

}  // namespace
}  // namespace moe4::ptx::test
