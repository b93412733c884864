// FP32 and FP64 arithmetic, all four rounding modes, .ftz and .sat, against the exact model.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tests/gpu/ptx/operands.h"

namespace moe4::ptx::test {
namespace {

struct Type {
  const char* name;
  Format format;
};
constexpr Type kTypes[] = {{"f32", kF32}, {"f64", kF64}};

Want number(const Format& f, Bits bits) { return is_nan(f, bits) ? Want::nan() : Want(bits); }

// A result under .ftz. Whether a result that only rounding lifts to the smallest normal is flushed is left
// open.
Want flushed(const Format& f, Bits nearest, Bits towards_zero) {
  if (is_nan(f, nearest)) return Want::nan();
  if (is_subnormal(f, towards_zero) && !is_subnormal(f, nearest))
    return Want::either(nearest, flush(f, towards_zero));
  return flush(f, nearest);
}

// Clamped to [0, 1]; NaN to +0. The ISA does not say which zero a -0 becomes.
Want saturated(const Format& f, Bits bits) {
  const Bits one = Bits(f.max_exponent) << (f.precision - 1);
  const bool negative = bits >> (f.bits - 1);
  if (is_nan(f, bits)) return 0;
  if (negative) return bits == Bits{1} << (f.bits - 1) ? Want::either(0, bits) : Want(0);
  return std::min(bits, one);
}

using Unary = Bits (*)(const Format&, Bits, Round);
using Binary = Bits (*)(const Format&, Bits, Bits, Round);

Bits reciprocal(const Format& f, Bits a, Round round) {
  return float_div(f, Bits(f.max_exponent) << (f.precision - 1), a, round);
}

std::vector<Row> two(const Format& f) {
  return join(pairs(float_edges(f), float_edges(f)), random_floats(11, 1500, 2, f));
}
std::vector<Row> one(const Format& f) { return join(singles(float_edges(f)), random_floats(12, 1500, 1, f)); }
std::vector<Row> three(const Format& f) {
  const Bits sign = Bits{1} << (f.bits - 1), infinity = Bits(2 * f.max_exponent + 1) << (f.precision - 1);
  const Bits one = Bits(f.max_exponent) << (f.precision - 1);
  const Bits smallest_normal = Bits{1} << (f.precision - 1);
  const std::vector<Bits> few = {0,
                                 sign,
                                 1,
                                 sign | 1,
                                 smallest_normal,
                                 smallest_normal - 1,
                                 one,
                                 one + 1,
                                 sign | one,
                                 one - 1,
                                 infinity - 1,
                                 sign | (infinity - 1),
                                 infinity,
                                 sign | infinity,
                                 infinity + 3};
  std::vector<Row> rows = join(triples(few, few, few), random_floats(13, 2000, 3, f));
  // c = -(a*b) rounded: the sum is the product's rounding error, which two roundings would lose.
  for (Row r : random_floats(14, 1000, 2, f)) {
    r.push_back(float_mul(f, r[0], r[1], Round::kNearestEven) ^ sign);
    rows.push_back(r);
  }
  return rows;
}

TEST(Float, AddSubMulInEveryRounding) {
  struct Op {
    const char* name;
    Binary model;
  };
  for (const Type& t : kTypes) {
    const std::vector<Row> rows = two(t.format);
    for (const Op& op : {Op{"add", float_add}, Op{"sub", float_sub}, Op{"mul", float_mul}}) {
      expect_model(instruction(std::string(op.name) + "." + t.name, t.name, {t.name, t.name}), rows,
                   [&](const Row& r) -> std::vector<Want> {
                     return {number(t.format, op.model(t.format, r[0], r[1], Round::kNearestEven))};
                   });
      for (const Round round : kRounds)
        expect_model(
            instruction(std::string(op.name) + "." + name_of(round) + "." + t.name, t.name, {t.name, t.name}),
            rows, [&](const Row& r) -> std::vector<Want> {
              return {number(t.format, op.model(t.format, r[0], r[1], round))};
            });
    }
  }
}

TEST(Float, FmaRoundsOnce) {
  for (const Type& t : kTypes)
    for (const Round round : kRounds)
      expect_model(
          instruction(std::string("fma.") + name_of(round) + "." + t.name, t.name, {t.name, t.name, t.name}),
          three(t.format), [&](const Row& r) -> std::vector<Want> {
            return {number(t.format, float_fma(t.format, r[0], r[1], r[2], round))};
          });
}

// mad.rn.f32/.f64 is fma on every target since sm_20.
TEST(Float, MadIsFused) {
  for (const Type& t : kTypes)
    expect_model(instruction(std::string("mad.rn.") + t.name, t.name, {t.name, t.name, t.name}),
                 three(t.format), [&](const Row& r) -> std::vector<Want> {
                   return {number(t.format, float_fma(t.format, r[0], r[1], r[2], Round::kNearestEven))};
                 });
}

TEST(Float, DivRcpSqrtInEveryRounding) {
  for (const Type& t : kTypes)
    for (const Round round : kRounds) {
      const std::string tail = std::string(".") + name_of(round) + "." + t.name;
      expect_model(instruction("div" + tail, t.name, {t.name, t.name}), two(t.format),
                   [&](const Row& r) -> std::vector<Want> {
                     return {number(t.format, float_div(t.format, r[0], r[1], round))};
                   });
      expect_model(instruction("rcp" + tail, t.name, {t.name}), one(t.format),
                   [&](const Row& r) -> std::vector<Want> {
                     return {number(t.format, reciprocal(t.format, r[0], round))};
                   });
      expect_model(instruction("sqrt" + tail, t.name, {t.name}), one(t.format),
                   [&](const Row& r) -> std::vector<Want> {
                     return {number(t.format, float_sqrt(t.format, r[0], round))};
                   });
    }
}

TEST(Float, FlushToZero) {
  struct Op {
    std::string opcode;
    int operands;
    std::function<Bits(const Row&, Round)> model;
  };
  const Format& f = kF32;
  std::vector<Op> ops;
  for (const Round round : kRounds) {
    const std::string m = std::string(".") + name_of(round) + ".ftz.f32";
    ops.push_back({"add" + m, 2, [&f](const Row& r, Round w) { return float_add(f, r[0], r[1], w); }});
    ops.push_back({"sub" + m, 2, [&f](const Row& r, Round w) { return float_sub(f, r[0], r[1], w); }});
    ops.push_back({"mul" + m, 2, [&f](const Row& r, Round w) { return float_mul(f, r[0], r[1], w); }});
    ops.push_back({"div" + m, 2, [&f](const Row& r, Round w) { return float_div(f, r[0], r[1], w); }});
    ops.push_back({"fma" + m, 3, [&f](const Row& r, Round w) { return float_fma(f, r[0], r[1], r[2], w); }});
    ops.push_back({"rcp" + m, 1, [&f](const Row& r, Round w) { return reciprocal(f, r[0], w); }});
    ops.push_back({"sqrt" + m, 1, [&f](const Row& r, Round w) { return float_sqrt(f, r[0], w); }});
  }
  std::size_t at = 0;
  for (const Op& op : ops) {
    const Round round = kRounds[at++ / 7];
    const std::vector<Row> rows = op.operands == 1 ? one(f) : op.operands == 2 ? two(f) : three(f);
    expect_model(
        instruction(op.opcode, "f32", std::vector<std::string>(static_cast<std::size_t>(op.operands), "f32")),
        rows, [&](const Row& r) -> std::vector<Want> {
          Row in = r;
          for (Bits& bits : in) bits = flush(f, bits);
          return {flushed(f, op.model(in, round), op.model(in, Round::kZero))};
        });
  }
}

TEST(Float, Saturate) {
  const Format& f = kF32;
  expect_model(instruction("add.sat.f32", "f32", {"f32", "f32"}), two(f),
               [&](const Row& r) -> std::vector<Want> {
                 return {saturated(f, float_add(f, r[0], r[1], Round::kNearestEven))};
               });
  expect_model(instruction("mul.rz.sat.f32", "f32", {"f32", "f32"}), two(f),
               [&](const Row& r) -> std::vector<Want> {
                 return {saturated(f, float_mul(f, r[0], r[1], Round::kZero))};
               });
  expect_model(instruction("fma.rn.sat.f32", "f32", {"f32", "f32", "f32"}), three(f),
               [&](const Row& r) -> std::vector<Want> {
                 return {saturated(f, float_fma(f, r[0], r[1], r[2], Round::kNearestEven))};
               });
}

// Order of all numbers with -0 below +0.
bool below(const Format& f, Bits a, Bits b) {
  const Bits sign = Bits{1} << (f.bits - 1);
  const bool a_negative = a & sign, b_negative = b & sign;
  if (a_negative != b_negative) return a_negative;
  return a_negative ? a > b : a < b;
}

TEST(Float, MinMax) {
  for (const Type& t : kTypes)
    for (const bool smaller : {true, false})
      for (const char* modifier : {"", ".NaN", ".ftz"}) {
        const bool single = t.format.bits == 32;
        if (!single && *modifier) continue;
        expect_model(instruction(std::string(smaller ? "min" : "max") + modifier + "." + t.name, t.name,
                                 {t.name, t.name}),
                     two(t.format), [&](const Row& r) -> std::vector<Want> {
                       Bits a = r[0], b = r[1];
                       if (modifier == std::string(".ftz")) a = flush(t.format, a), b = flush(t.format, b);
                       const bool a_nan = is_nan(t.format, a), b_nan = is_nan(t.format, b);
                       if ((a_nan && b_nan) || ((a_nan || b_nan) && modifier == std::string(".NaN")))
                         return {Want::nan()};
                       if (a_nan || b_nan) return {a_nan ? b : a};
                       return {below(t.format, a, b) == smaller ? a : b};
                     });
      }
}

TEST(Float, SignOperations) {
  for (const Type& t : kTypes) {
    const Bits sign = Bits{1} << (t.format.bits - 1);
    expect_model(instruction(std::string("neg.") + t.name, t.name, {t.name}), one(t.format),
                 [&](const Row& r) -> std::vector<Want> { return {number(t.format, r[0] ^ sign)}; });
    expect_model(instruction(std::string("abs.") + t.name, t.name, {t.name}), one(t.format),
                 [&](const Row& r) -> std::vector<Want> { return {number(t.format, r[0] & ~sign)}; });
    // The sign comes from the first operand, the magnitude from the second.
    expect_model(instruction(std::string("copysign.") + t.name, t.name, {t.name, t.name}), two(t.format),
                 [&](const Row& r) -> std::vector<Want> { return {(r[0] & sign) | (r[1] & ~sign)}; });
  }
  expect_model(instruction("neg.ftz.f32", "f32", {"f32"}), one(kF32), [](const Row& r) -> std::vector<Want> {
    return {number(kF32, flush(kF32, r[0]) ^ 0x80000000)};
  });
  expect_model(instruction("abs.ftz.f32", "f32", {"f32"}), one(kF32), [](const Row& r) -> std::vector<Want> {
    return {number(kF32, flush(kF32, r[0]) & 0x7fffffff)};
  });
}

TEST(Float, Immediates) {
  const std::vector<Row> rows = singles({0x40400000, 0xbf000000});
  const auto doubled = [](const Row& r) -> std::vector<Want> {
    return {float_mul(kF32, r[0], 0x40000000, Round::kNearestEven)};
  };
  expect_model({"mul.f32 %d, %a, 0f40000000;", {"f32"}, {"f32"}}, rows, doubled);
  expect_model({"mul.f32 %d, %a, 0F40000000;", {"f32"}, {"f32"}}, rows, doubled);
  expect_model({"mul.f32 %d, %a, 2.0;", {"f32"}, {"f32"}}, rows, doubled);
  expect_model({"mul.f64 %d, %a, 0d4000000000000000;", {"f64"}, {"f64"}}, singles({0x4008000000000000}),
               [](const Row&) -> std::vector<Want> { return {0x4018000000000000}; });
}

}  // namespace
}  // namespace moe4::ptx::test
