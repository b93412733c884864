// F16 and BF16 arithmetic, scalar and packed: one rounding each, subnormals kept unless .ftz.
#include <gtest/gtest.h>

#include "tests/gpu/ptx/operands.h"

namespace moe4::ptx::test {
namespace {

struct Type {
  const char* name;
  const char* packed;
  Format format;
};
constexpr Type kTypes[] = {{"f16", "f16x2", kF16}, {"bf16", "bf16x2", kBf16}};
constexpr Round kNear = Round::kNearestEven;

Want number(const Format& f, Bits bits) { return is_nan(f, bits) ? Want::nan() : Want(bits); }

std::vector<Row> two(const Format& f) {
  return join(pairs(float_edges(f), float_edges(f)), random_floats(21, 2000, 2, f));
}
std::vector<Row> three(const Format& f) {
  std::vector<Row> rows = random_floats(22, 4000, 3, f);
  const std::vector<Bits> edges = float_edges(f);
  Lcg random(23);
  const auto n = static_cast<std::uint32_t>(edges.size());
  for (int i = 0; i < 8000; ++i)
    rows.push_back({edges[random.below(n)], edges[random.below(n)], edges[random.below(n)]});
  return rows;
}

// The same operation on both halves of a packed register; operand rows hold the lower half's operands, and
// the upper half gets those of the row reversed, so that a swap of halves or operands shows.
void both_halves(const std::string& opcode, const Type& t, int operands, const std::vector<Row>& rows,
                 const std::function<Want(const Row&)>& model) {
  std::string text = "{\n.reg .b32 x;\n" + opcode + "." + t.packed + " x, %a";
  if (operands > 1) text += ", %b";
  if (operands > 2) text += ", %c";
  text += ";\nmov.b32 {%d, %q}, x;\n}";
  std::vector<Row> packed;
  for (const Row& r : rows) {
    Row both;
    for (std::size_t i = 0; i < r.size(); ++i) both.push_back(r[r.size() - 1 - i] << 16 | r[i]);
    packed.push_back(both);
  }
  expect_model({text, std::vector<std::string>(static_cast<std::size_t>(operands), "b32"), {t.name, t.name}},
               packed, [&model](const Row& r) -> std::vector<Want> {
                 Row low, high;
                 for (const Bits bits : r) low.push_back(bits & 0xffff), high.push_back(bits >> 16);
                 return {model(low), model(high)};
               });
}

void scalar_and_packed(const std::string& opcode, const Type& t, int operands, const std::vector<Row>& rows,
                       const std::function<Want(const Row&)>& model) {
  expect_model(instruction(opcode + "." + t.name, t.name,
                           std::vector<std::string>(static_cast<std::size_t>(operands), t.name)),
               rows, [&model](const Row& r) -> std::vector<Want> { return {model(r)}; });
  both_halves(opcode, t, operands, rows, model);
}

TEST(Half, AddSubMul) {
  for (const Type& t : kTypes)
    for (const char* rounding : {"", ".rn"}) {
      const Format& f = t.format;
      scalar_and_packed(std::string("add") + rounding, t, 2, two(f),
                        [&f](const Row& r) { return number(f, float_add(f, r[0], r[1], kNear)); });
      scalar_and_packed(std::string("sub") + rounding, t, 2, two(f),
                        [&f](const Row& r) { return number(f, float_sub(f, r[0], r[1], kNear)); });
      scalar_and_packed(std::string("mul") + rounding, t, 2, two(f),
                        [&f](const Row& r) { return number(f, float_mul(f, r[0], r[1], kNear)); });
    }
}

// Through FP32 and back would round twice: the rows hold such cases for both formats (checked here).
TEST(Half, FmaRoundsOnce) {
  for (const Type& t : kTypes) {
    const Format& f = t.format;
    const std::vector<Row> rows = three(f);
    int differs = 0;
    for (const Row& r : rows) {
      const auto wide = [&](Bits bits) { return float_convert(f, bits, kF32, kNear); };
      const Bits twice =
          float_convert(kF32, float_fma(kF32, wide(r[0]), wide(r[1]), wide(r[2]), kNear), f, kNear);
      differs += twice != float_fma(f, r[0], r[1], r[2], kNear);
    }
    EXPECT_GT(differs, 0) << t.name;
    scalar_and_packed("fma.rn", t, 3, rows,
                      [&f](const Row& r) { return number(f, float_fma(f, r[0], r[1], r[2], kNear)); });
  }
}

TEST(Half, FmaRelu) {
  for (const Type& t : kTypes) {
    const Format& f = t.format;
    scalar_and_packed("fma.rn.relu", t, 3, three(f), [&f](const Row& r) {
      const Bits bits = float_fma(f, r[0], r[1], r[2], kNear);
      if (is_nan(f, bits)) return Want::nan();
      if (bits == 0x8000) return Want::either(0, bits);
      return Want(bits & 0x8000 ? 0 : bits);
    });
  }
}

TEST(Half, FlushAndSaturateF16) {
  const Type& t = kTypes[0];
  const Format& f = t.format;
  const auto flushed_result = [&f](Bits nearest, Bits zero) {
    if (is_nan(f, nearest)) return Want::nan();
    if (is_subnormal(f, zero) && !is_subnormal(f, nearest)) return Want::either(nearest, flush(f, zero));
    return Want(flush(f, nearest));
  };
  scalar_and_packed("add.ftz", t, 2, two(f), [&](const Row& r) {
    const Bits a = flush(f, r[0]), b = flush(f, r[1]);
    return flushed_result(float_add(f, a, b, kNear), float_add(f, a, b, Round::kZero));
  });
  scalar_and_packed("mul.rn.ftz", t, 2, two(f), [&](const Row& r) {
    const Bits a = flush(f, r[0]), b = flush(f, r[1]);
    return flushed_result(float_mul(f, a, b, kNear), float_mul(f, a, b, Round::kZero));
  });
  scalar_and_packed("fma.rn.ftz", t, 3, three(f), [&](const Row& r) {
    const Bits a = flush(f, r[0]), b = flush(f, r[1]), c = flush(f, r[2]);
    return flushed_result(float_fma(f, a, b, c, kNear), float_fma(f, a, b, c, Round::kZero));
  });
  scalar_and_packed("add.sat", t, 2, two(f), [&](const Row& r) {
    const Bits sum = float_add(f, r[0], r[1], kNear);
    if (is_nan(f, sum)) return Want(0);
    if (sum & 0x8000) return sum == 0x8000 ? Want::either(0, sum) : Want(0);
    return Want(std::min<Bits>(sum, 0x3c00));
  });
}

TEST(Half, MinMax) {
  for (const Type& t : kTypes)
    for (const bool smaller : {true, false})
      for (const bool propagate : {false, true}) {
        const Format& f = t.format;
        scalar_and_packed(std::string(smaller ? "min" : "max") + (propagate ? ".NaN" : ""), t, 2, two(f),
                          [&](const Row& r) {
                            const bool a_nan = is_nan(f, r[0]), b_nan = is_nan(f, r[1]);
                            if ((a_nan && b_nan) || (propagate && (a_nan || b_nan))) return Want::nan();
                            if (a_nan || b_nan) return Want(a_nan ? r[1] : r[0]);
                            const auto key = [](Bits bits) {
                              return bits & 0x8000 ? -static_cast<int>(bits & 0x7fff) - 1
                                                   : static_cast<int>(bits);
                            };
                            return Want((key(r[0]) < key(r[1])) == smaller ? r[0] : r[1]);
                          });
      }
}

TEST(Half, NegateAndAbsolute) {
  for (const Type& t : kTypes) {
    const Format& f = t.format;
    const std::vector<Row> rows = singles(float_edges(f));
    scalar_and_packed("neg", t, 1, rows, [&f](const Row& r) { return number(f, r[0] ^ 0x8000); });
    scalar_and_packed("abs", t, 1, rows, [&f](const Row& r) { return number(f, r[0] & 0x7fff); });
  }
}

// What headers emit for bf16 sums on sm_80: fma with the constants 1 and -0 (packed), same rounding.
TEST(Half, Bf16SumsThroughFma) {
  expect_model({"{\n.reg .b16 one;\nmov.b16 one, 0x3f80U;\nfma.rn.bf16 %d, %a, one, %b;\n}",
                {"bf16", "bf16"},
                {"bf16"}},
               two(kBf16), [](const Row& r) -> std::vector<Want> {
                 return {number(kBf16, float_add(kBf16, r[0], r[1], kNear))};
               });
  expect_model({"{\n.reg .b16 zero;\nmov.b16 zero, 0x8000U;\nfma.rn.bf16 %d, %a, %b, zero;\n}",
                {"bf16", "bf16"},
                {"bf16"}},
               two(kBf16), [](const Row& r) -> std::vector<Want> {
                 return {number(kBf16, float_mul(kBf16, r[0], r[1], kNear))};
               });
}

// Every BF16 and F16 number survives a multiplication by one and the addition of -0.
TEST(Half, EveryEncodingIsKept) {
  for (const Type& t : kTypes) {
    std::vector<Row> all;
    for (Bits bits = 0; bits < 0x10000; ++bits) all.push_back({bits});
    const std::string one = t.format.precision == 8 ? "0x3f80" : "0x3c00";
    expect_model(
        {std::string("{\n.reg .b16 x;\nmov.b16 x, ") + one + ";\nmul.rn." + t.name + " %d, %a, x;\n}",
         {t.name},
         {t.name}},
        all, [&t](const Row& r) -> std::vector<Want> { return {number(t.format, r[0])}; });
  }
}

}  // namespace
}  // namespace moe4::ptx::test
