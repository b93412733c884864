// ACC-6 to ACC-15: the step of a tensor core on hand-worked sums. The examples are those of
// docs/spec/accumulation.md.
#include "reference/accumulate/tensor_core.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/reference/problem.h"

namespace moe4::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Factors {
  double a;
  double b;
};

double two(int exponent) { return std::ldexp(1.0, exponent); }

// c + Σ a·b in one step of the generation; products not given are 0·0. All numbers must be representable.
std::uint32_t step(const char* generation, Dtype dtype, double c, const std::vector<Factors>& products) {
  const TensorCore* unit = tensor_core(generation);
  EXPECT_NE(unit, nullptr) << generation;
  std::vector<std::uint16_t> a(static_cast<std::size_t>(unit->products), 0);
  std::vector<std::uint16_t> b(a.size(), 0);
  EXPECT_LE(products.size(), a.size());
  for (std::size_t k = 0; k < products.size(); ++k) {
    a[k] = static_cast<std::uint16_t>(encode(dtype, products[k].a));
    b[k] = static_cast<std::uint16_t>(encode(dtype, products[k].b));
  }
  return tensor_core_step(*unit, dtype, static_cast<std::uint32_t>(encode(Dtype::kF32, c)), a, b);
}

std::uint32_t hopper(double c, const std::vector<Factors>& products) {
  return step("hopper", Dtype::kBF16, c, products);
}

std::uint32_t f32(double value) { return static_cast<std::uint32_t>(encode(Dtype::kF32, value)); }

// The five-term sum that tells the generations apart (arXiv 2511.10909, table 8); exactly it is -0.875.
TEST(TensorCore, GenerationsCutAtDifferentBits) {
  const std::vector<Factors> products = {{-two(13), two(10)}, {-0.5, 1}, {-0.25, 1}, {-0.125, 1}};
  const auto sum = [&](const char* generation, std::vector<Factors> p) {
    return step(generation, Dtype::kF16, two(23), p);
  };
  EXPECT_EQ(sum("volta", products), 0U);
  EXPECT_EQ(sum("turing", products), f32(-0.5));
  EXPECT_EQ(sum("ampere", products), f32(-0.5));
  EXPECT_EQ(sum("ada", products), f32(-0.5));
  EXPECT_EQ(sum("hopper", products), f32(-0.75));
  EXPECT_EQ(sum("blackwell", products), f32(-0.75));
  EXPECT_EQ(step("ampere", Dtype::kBF16, two(23), products), f32(-0.5));
  EXPECT_EQ(step("hopper", Dtype::kBF16, two(23), products), f32(-0.75));
}

TEST(TensorCore, TermsAreCutTowardZero) {
  EXPECT_EQ(hopper(1, {{two(-25), 1}, {-two(-26), 1}}), 0x3F800000U);
  // On the grid 2^-25 of the largest term, -2^-26 is zero, not -2^-25; two of them are zero too.
  EXPECT_EQ(hopper(-1, {{1, 1}, {-two(-26), 1}, {-two(-26), 1}}), 0U);
  EXPECT_EQ(hopper(1, {{-1, 1}, {two(-26), 1}, {two(-26), 1}}), 0U);
  EXPECT_EQ(hopper(1, {{-1, 1}, {two(-25), 1}}), f32(two(-25)));
  EXPECT_EQ(hopper(1, {{-1, 1}, {-1.5, two(-25)}}), f32(-two(-25)));
}

TEST(TensorCore, TheSumIsCutTowardZero) {
  EXPECT_EQ(hopper(-1, {{-1, two(-23)}, {-1, two(-24)}}), 0xBF800001U);
  EXPECT_EQ(hopper(1, {{1, two(-23)}, {1, two(-24)}}), 0x3F800001U);
  // Two leading bits of carry: 3 + 2^-22 + 2^-23 loses the last.
  EXPECT_EQ(hopper(two(-23), {{1.5, 2}, {1, two(-22)}}), 0x40400001U);
}

// A product in [2,4) keeps the exponent of its factors, so that the grid is one bit finer.
TEST(TensorCore, ProductsAreNotRenormalised) {
  EXPECT_EQ(hopper(two(-25), {{1.5, 1.5}, {-1.5, 1.5}}), 0x33000000U);
  EXPECT_EQ(hopper(two(-26), {{1.5, 1.5}, {-1.5, 1.5}}), 0U);
}

TEST(TensorCore, SubnormalOperandsCountAndAreNotNormalised) {
  EXPECT_EQ(hopper(0, {{two(-133), two(100)}}), f32(two(-33)));
  EXPECT_EQ(hopper(two(-52), {{two(-133), two(100)}, {-two(-133), two(100)}}), 0U);
  EXPECT_EQ(hopper(two(-51), {{two(-133), two(100)}, {-two(-133), two(100)}}), f32(two(-51)));
  // F16: 2^-24 counts with exponent -14.
  EXPECT_EQ(step("hopper", Dtype::kF16, two(-40), {{two(-24), 1}, {-two(-24), 1}}), 0U);
  EXPECT_EQ(step("hopper", Dtype::kF16, two(-39), {{two(-24), 1}, {-two(-24), 1}}), f32(two(-39)));
  // A subnormal c counts with -126: 2^-149 against products of 2^-124, whose grid is 2^-149.
  EXPECT_EQ(hopper(two(-149), {{two(-62), two(-62)}, {-two(-62), two(-62)}}), 1U);
  EXPECT_EQ(hopper(two(-149), {{two(-62), two(-61)}, {-two(-62), two(-61)}}), 0U);
}

// The probe of ACC-15: by the other published model the zero operand has the exponent of its encoding, and
// the answer is +0.
TEST(TensorCore, ZeroProductsHaveAnExponentOfTheirOwn) {
  EXPECT_EQ(hopper(0, {{0, two(127)}, {1, two(-25)}}), 0x33000000U);
  EXPECT_EQ(hopper(0, {{two(127), 0}, {1, two(-25)}}), 0x33000000U);
  EXPECT_EQ(step("ampere", Dtype::kBF16, 0, {{0, two(127)}, {1, two(-24)}}), f32(two(-24)));
  EXPECT_EQ(step("turing", Dtype::kF16, 0, {{0, two(15)}, {1, two(-24)}}), f32(two(-24)));
  EXPECT_EQ(step("volta", Dtype::kF16, 0, {{0, two(15)}, {1, two(-23)}}), f32(two(-23)));
}

// With zeros about, nothing below 2^(e_zero - F) is added: -158 for F = 25, -156 for F = 24.
TEST(TensorCore, ZeroTermsSetTheFinestGrid) {
  const Factors least = {two(-23), two(-126)};  // 2^-149
  EXPECT_EQ(hopper(0, {least, {-two(-24), two(-126)}}), 0U);
  EXPECT_EQ(hopper(0, {least, {-two(-32), two(-126)}}), 0U);
  EXPECT_EQ(hopper(0, {least, {-two(-33), two(-126)}}), 1U);
  EXPECT_EQ(step("ampere", Dtype::kBF16, 0, {least, {-two(-30), two(-126)}}), 0U);
  EXPECT_EQ(step("ampere", Dtype::kBF16, 0, {least, {-two(-31), two(-126)}}), 1U);
  // 16 products of -2^-160, together -2^-156, which would be -0 if they were not cut.
  const TensorCore* unit = tensor_core("hopper");
  std::vector<std::uint16_t> a(16, static_cast<std::uint16_t>(encode(Dtype::kBF16, two(-34))));
  std::vector<std::uint16_t> b(16, static_cast<std::uint16_t>(encode(Dtype::kBF16, -two(-126))));
  EXPECT_EQ(tensor_core_step(*unit, Dtype::kBF16, 1, a, b), 1U) << "c = 2^-149 has the exponent -126";
  EXPECT_EQ(tensor_core_step(*unit, Dtype::kBF16, 0x80000000, a, b), 0U) << "16 times -2^-160 is cut away";
}

TEST(TensorCore, ResultsAreSubnormalWhereTheyMust) {
  EXPECT_EQ(hopper(0, {{3 * two(-75), two(-75)}}), 1U);
  EXPECT_EQ(hopper(0, {{-3 * two(-75), two(-75)}}), 0x80000001U);
  EXPECT_EQ(hopper(0, {{two(-75), two(-75)}}), 0U);
  EXPECT_EQ(hopper(0, {{-two(-75), two(-75)}}), 0x80000000U);
  EXPECT_EQ(hopper(two(-126), {{-two(-64), two(-64)}}), f32(two(-126) - two(-128)));
  EXPECT_EQ(hopper(two(-127), {{two(-64), two(-63)}}), f32(two(-126)));
}

TEST(TensorCore, OverflowIsInfinite) {
  const double largest = (2 - two(-23)) * two(127);
  EXPECT_EQ(hopper(largest, {{two(52), two(51)}}), 0x7F7FFFFFU);
  EXPECT_EQ(hopper(largest, {{two(52), two(52)}}), 0x7F800000U);
  EXPECT_EQ(hopper(-largest, {{-two(52), two(52)}}), 0xFF800000U);
  EXPECT_EQ(hopper(0, {{two(100), two(100)}}), 0x7F800000U);
  EXPECT_EQ(hopper(0, {{two(127), two(127)}, {-two(127), two(127)}, {1, 1}}), 0U);
}

TEST(TensorCore, ZeroSumsArePositive) {
  EXPECT_EQ(hopper(-0.0, {}), 0U);
  EXPECT_EQ(hopper(-0.0, {{-0.0, 1}, {0, -1}}), 0U);
  EXPECT_EQ(hopper(-1, {{1, 1}}), 0U);
}

TEST(TensorCore, SpecialValues) {
  EXPECT_EQ(hopper(1, {{kInf, 0}}), 0x7FFFFFFFU);
  EXPECT_EQ(hopper(1, {{-0.0, kInf}}), 0x7FFFFFFFU);
  EXPECT_EQ(hopper(-kInf, {{kInf, 1}}), 0x7FFFFFFFU);
  EXPECT_EQ(hopper(0, {{kInf, 1}, {kInf, -1}}), 0x7FFFFFFFU);
  EXPECT_EQ(hopper(kNan, {}), 0x7FFFFFFFU);
  EXPECT_EQ(hopper(0, {{1, kNan}}), 0x7FFFFFFFU);
  EXPECT_EQ(hopper(kInf, {{kNan, 0}}), 0x7FFFFFFFU);
  EXPECT_EQ(hopper(kInf, {{1, 1}}), 0x7F800000U);
  EXPECT_EQ(hopper(1, {{-kInf, two(-133)}}), 0xFF800000U);
  EXPECT_EQ(hopper(1, {{-kInf, -kInf}}), 0x7F800000U);
  // Finite products beyond F32's range are finite: no Inf - Inf.
  EXPECT_EQ(hopper(-kInf, {{two(127), two(127)}}), 0xFF800000U);
}

// ACC-13: Ampere's m16n8k16 is two steps; Hopper's m16n8k8 is one of 8.
TEST(TensorCore, InstructionsAreSteps) {
  const std::uint16_t one = 0x3F80;
  std::vector<std::uint16_t> a(16, 0);
  std::vector<std::uint16_t> b(16, one);
  a[0] = static_cast<std::uint16_t>(encode(Dtype::kBF16, two(24)));
  a[8] = static_cast<std::uint16_t>(encode(Dtype::kBF16, -two(24)));
  a[9] = one;
  a[1] = one;
  // Ampere: 2^24 + 1 is cut to 2^24, then - 2^24 + 1 is 1. Hopper adds all of it at once.
  EXPECT_EQ(tensor_core_instruction(*tensor_core("ampere"), Dtype::kBF16, 0, a, b), f32(1));
  EXPECT_EQ(tensor_core_instruction(*tensor_core("hopper"), Dtype::kBF16, 0, a, b), f32(2));
  const std::span<const std::uint16_t> half_a(a.data() + 8, 8);
  const std::span<const std::uint16_t> half_b(b.data() + 8, 8);
  EXPECT_EQ(tensor_core_instruction(*tensor_core("hopper"), Dtype::kBF16, f32(two(24)), half_a, half_b),
            f32(1));
}

TEST(TensorCore, TilesAreInstructions) {
  constexpr std::size_t kRows = 3, kColumns = 5, kK = 16;
  std::vector<std::uint16_t> a(kRows * kK);
  std::vector<std::uint16_t> b(kColumns * kK);
  std::uint32_t state = 1;
  const auto next = [&] { return static_cast<std::uint16_t>((state = state * 1664525 + 1013904223) >> 16); };
  for (std::uint16_t& bits : a) bits = next();
  for (std::uint16_t& bits : b) bits = next() & 0xBFFF;  // below 2: few infinities
  for (const TensorCore& unit : tensor_cores()) {
    for (const Dtype dtype : {Dtype::kBF16, Dtype::kF16}) {
      std::vector<std::uint32_t> d(kRows * kColumns, 0x3F800000);
      tensor_core_tile(unit, dtype, {kRows, kColumns, kK, a.data(), b.data(), d.data()});
      for (std::size_t n = 0; n < d.size(); ++n) {
        const std::span<const std::uint16_t> row(&a[n / kColumns * kK], kK);
        const std::span<const std::uint16_t> column(&b[n % kColumns * kK], kK);
        EXPECT_EQ(d[n], tensor_core_instruction(unit, dtype, 0x3F800000, row, column))
            << unit.name << " " << n;
      }
    }
  }
}

// ACC-7: the last step of a chain is filled up; it is a step like any other.
TEST(TensorCore, ChainsAreCutIntoSteps) {
  const TensorCore& unit = *tensor_core("hopper");
  std::vector<TensorOperand> a(19, tensor_operand(Dtype::kBF16, 0));
  const std::vector<TensorOperand> b(19, tensor_operand(Dtype::kBF16, 0x3F80));
  a[15] = tensor_operand(Dtype::kBF16, static_cast<std::uint16_t>(encode(Dtype::kBF16, two(24))));
  a[16] = tensor_operand(Dtype::kBF16, 0x3F80);
  a[18] = tensor_operand(Dtype::kBF16, static_cast<std::uint16_t>(encode(Dtype::kBF16, -two(24))));
  EXPECT_EQ(tensor_core_chain(unit, Dtype::kBF16, 0, a, b), f32(1));
  EXPECT_EQ(tensor_core_chain(unit, Dtype::kBF16, 0, std::span(a).first(18), std::span(b).first(18)),
            f32(two(24)));
  EXPECT_EQ(tensor_core_chain(unit, Dtype::kBF16, 7, {}, {}), 7U);
}

TEST(TensorCore, GenerationsAndTheirOperands) {
  EXPECT_EQ(tensor_core("fermi"), nullptr);
  EXPECT_EQ(tensor_cores().size(), 6U);
  for (const TensorCore& unit : tensor_cores()) {
    EXPECT_TRUE(multiplies(unit, Dtype::kF16)) << unit.name;
    EXPECT_FALSE(multiplies(unit, Dtype::kF32)) << unit.name;
    EXPECT_EQ(multiplies(unit, Dtype::kBF16), unit.name != "volta" && unit.name != "turing") << unit.name;
    EXPECT_EQ(unit.zero_exponent, -108 - unit.fraction_bits) << unit.name << ": ACC-14, the pattern";
  }
}

}  // namespace
}  // namespace moe4::test
