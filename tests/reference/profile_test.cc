// PRO-3 to PRO-18 and ACC-2 to ACC-16 on hand-worked examples: profiles, orders, accumulations, weights.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "reference/profile/declared_combine.h"
#include "reference/profile/declared_linear.h"
#include "reference/profile/declared_rows.h"
#include "tests/reference/problem.h"
#include "tests/reference/routing_problem.h"

namespace moe4::test {
namespace {

Arithmetic arithmetic(std::string_view text) {
  const Result<Arithmetic> parsed = parse_arithmetic(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed.ok() ? parsed.value() : Arithmetic{};
}

// The one output of the problem, or all ones.
std::uint64_t output(const Problem& problem, std::string_view text) {
  const Result<Tensor> y =
      declared_expert_linear(linear_inputs(problem.inputs()), arithmetic(text), problem.policy);
  EXPECT_TRUE(y.ok()) << text << ": " << y.error().message();
  return y.ok() ? bits_at(*y, 0) : ~std::uint64_t{0};
}

constexpr double two(int exponent) { return std::ldexp(1.0, exponent); }

// The example of docs/spec/profiles.md.
TEST(Profile, AllFiveDiffer) {
  Problem problem({1, 3, 32, 1, 3}, {Dtype::kBF16, Dtype::kF32, Dtype::kBF16, Dtype::kI32});
  problem.x(0)
      .code(0)
      .x(0, 0, 53.0 / 32)
      .x(0, 1, 81.0 / 64)
      .ids({0, 1, 2})
      .p({0.25, 0.75, 0.625})
      .shared({-3.75});
  const int codes[3][2] = {{1, 2}, {2, 1}, {2, 1}};  // 1/2 and 1
  for (int e = 0; e < 3; ++e) {
    for (int i = 0; i < 2; ++i) problem.code(e, 0, i, static_cast<std::uint8_t>(codes[e][i]));
  }
  for (const char* accumulation : {"exact", "f32_sequential", "ampere", "hopper"}) {
    const auto y = [&](const std::string& profile) {
      return output(problem, "profile=" + profile + " accumulation=" + accumulation);
    };
    EXPECT_EQ(y("once"), encode(Dtype::kBF16, -0.0791015625)) << accumulation;
    EXPECT_EQ(y("late"), encode(Dtype::kBF16, -0.078125)) << accumulation;
    EXPECT_EQ(y("late_bf16_sum"), encode(Dtype::kBF16, -0.0625)) << accumulation;
    EXPECT_EQ(y("hf"), encode(Dtype::kBF16, -0.09375)) << accumulation;
    EXPECT_EQ(y("early"), encode(Dtype::kBF16, -0.083984375)) << accumulation;
  }
}

// A token dtype of F32 leaves the profiles that differ only in roundings to the output dtype equal.
TEST(Profile, RoundsToTheOutputDtype) {
  Problem problem({1, 1, 32, 1, 2}, {Dtype::kF32, Dtype::kF32, Dtype::kF32, Dtype::kI32});
  problem.x(0).x(0, 0, 1 + two(-12)).ids({0, 0}).p({1 + two(-12), 1}).shared({0});
  const std::uint64_t exact_in_f32 = encode(Dtype::kF32, 2 + two(-11) + two(-12));  // less 2^-24, a tie
  for (const char* profile : {"late", "late_bf16_sum", "hf", "early"}) {
    EXPECT_EQ(output(problem, "profile=" + std::string(profile)), exact_in_f32) << profile;
  }
  EXPECT_EQ(output(problem, "profile=once products=rounded"), exact_in_f32);
}

// once: fma(p, d, r) or a rounded product.
TEST(Profile, ProductsOfOnce) {
  Problem problem({1, 1, 32, 1, 1}, {Dtype::kF32, Dtype::kF32, Dtype::kF32, Dtype::kI32});
  problem.x(0).x(0, 0, 1 + two(-12)).p({1 + two(-12)}).shared({-1});
  EXPECT_EQ(output(problem, "profile=once"), encode(Dtype::kF32, two(-11) + two(-24)));
  EXPECT_EQ(output(problem, "profile=once products=rounded"), encode(Dtype::kF32, two(-11)));
  EXPECT_EQ(output(problem, "profile=once accumulation=exact"), encode(Dtype::kF32, two(-11) + two(-24)));
}

TEST(Profile, OverflowAndNanOnTheWay) {
  // v_j is above BF16's range: Inf and -Inf, while once cancels.
  Problem problem({1, 2, 32, 1, 2});
  problem.x(0).x(0, 0, two(127)).ids({0, 1}).p({2 - two(-20), -2 + two(-20)});
  EXPECT_EQ(output(problem, "profile=once"), 0U);
  EXPECT_EQ(output(problem, "profile=hf"), 0U);
  EXPECT_EQ(output(problem, "profile=late"), 0x7FC0U);
  EXPECT_EQ(output(problem, "profile=late_bf16_sum"), 0x7FC0U);
  EXPECT_EQ(output(problem, "profile=late accumulation=exact"), 0x7FC0U);
  EXPECT_EQ(output(problem, "profile=early"), 0x7FC0U);
}

TEST(Profile, WithoutSlotsTheSharedOutputStays) {
  Problem problem({1, 1, 32, 1, 0});
  problem.shared({-0.0});
  for (const char* profile : {"once", "late", "late_bf16_sum", "hf", "early"}) {
    for (const char* accumulation : {"exact", "f32_sequential", "hopper"}) {
      EXPECT_EQ(output(problem, std::string("profile=") + profile + " accumulation=" + accumulation),
                0x8000U);
    }
  }
}

TEST(Profile, AZeroOfSlotsIsPositive) {
  Problem problem({1, 1, 32, 1, 1});
  problem.x(0).shared({-0.0}).p({-1});
  for (const char* profile : {"once", "late", "late_bf16_sum", "hf", "early"}) {
    for (const char* accumulation : {"exact", "f32_sequential", "hopper"}) {
      EXPECT_EQ(output(problem, std::string("profile=") + profile + " accumulation=" + accumulation), 0U);
    }
  }
}

// An F64 p or shared output is rounded to F32 before it is used, unless nothing is rounded.
TEST(Profile, WiderOperandsAreConverted) {
  Problem problem({1, 1, 32, 1, 1}, {Dtype::kF32, Dtype::kF64, Dtype::kF64, Dtype::kI32});
  problem.x(0).x(0, 0, 1).p({1 + two(-24)}).shared({-1 + two(-26)});
  EXPECT_EQ(output(problem, "profile=once"), 0U);  // 1 - 1
  EXPECT_EQ(output(problem, "profile=once accumulation=exact"), encode(Dtype::kF32, two(-24) + two(-26)));
}

// ---- orders ----

Problem f32_row(std::int64_t in) {
  Problem problem({1, 1, in, 1, 1}, {Dtype::kF32, Dtype::kF32, Dtype::kF32, Dtype::kI32});
  problem.x(0);
  return problem;
}

TEST(ProfileOrder, SumsDependOnTheTree) {
  Problem pair = f32_row(64);
  pair.x(0, 0, 1).x(0, 32, two(-24)).x(0, 33, two(-24));
  EXPECT_EQ(output(pair, "order=seq"), 0x3F800000U);
  EXPECT_EQ(output(pair, "order=any"), 0x3F800000U) << "evaluated as seq";
  EXPECT_EQ(output(pair, "order=groups(32)"), 0x3F800001U);
  EXPECT_EQ(output(pair, "order=split(2)"), 0x3F800001U);
  EXPECT_EQ(output(pair, "accumulation=exact"), 0x3F800001U);

  // Four warps hold 1, 2^-24, 0, 2^-24: (w0+w2) + (w1+w3).
  Problem warps = f32_row(256);
  warps.x(0, 0, 1).x(0, 64, two(-24)).x(0, 192, two(-24));
  EXPECT_EQ(output(warps, "order=warps(64,4)+tree"), 0x3F800001U);
  EXPECT_EQ(output(warps, "order=lanes(4,64)+seq"), 0x3F800000U);
  // In slices of 128 there are two warps with columns: 1 + 2^-24, then 0 + 2^-24.
  EXPECT_EQ(output(warps, "order=split(2)*warps(64,4)+tree"), 0x3F800000U);
}

TEST(ProfileOrder, ProductsRoundedOrNot) {
  Problem problem = f32_row(32);
  problem.code(5).x(0, 0, -1).x(0, 1, 1 + two(-23));  // weight 3
  EXPECT_EQ(output(problem, "order=seq products=fma"), encode(Dtype::kF32, 3 * two(-23)));
  EXPECT_EQ(output(problem, "order=seq products=rounded"), encode(Dtype::kF32, 4 * two(-23)));
}

TEST(ProfileOrder, F64TokensAreSummedInF64) {
  Problem problem({1, 1, 64, 1, 1}, {Dtype::kF64, Dtype::kF64, Dtype::kF64, Dtype::kI32});
  problem.x(0).x(0, 0, 1).x(0, 32, two(-53)).x(0, 33, two(-53));
  EXPECT_EQ(output(problem, "order=seq"), encode(Dtype::kF64, 1));
  EXPECT_EQ(output(problem, "order=groups(32)"), encode(Dtype::kF64, 1 + two(-52)));
  // A weight above F32's range.
  Problem wide({1, 1, 32, 1, 1}, {Dtype::kF64, Dtype::kF64, Dtype::kF64, Dtype::kI32});
  wide.x(0).code(7).scale(254).x(0, 0, two(880)).x(0, 1, -two(880)).x(0, 2, two(-120));
  EXPECT_EQ(output(wide, "order=seq"), encode(Dtype::kF64, 6 * two(7)));
  EXPECT_EQ(output(wide, "order=seq ftz=yes"), encode(Dtype::kF64, 6 * two(7)));
}

// One row of one expert, BF16, weights 1.
struct Row {
  explicit Row(std::int64_t in, std::int64_t out = 1) : layer(WeightFormat::kMxfp4, 1, 1, in, out) {
    fill(layer.tokens, 0);
  }
  Row& x(std::int64_t i, double value) {
    set(layer.tokens, i, value);
    return *this;
  }
  std::uint64_t bits(std::string_view text) const {
    const std::int32_t index = 0;
    const GroupedContiguousInputs in{layer.tokens.view(), layer.weights(), {Dtype::kI32, {1}, &index, {}}};
    const Result<RowsResult> y = declared_grouped_contiguous(in, arithmetic(text));
    EXPECT_TRUE(y.ok()) << y.error().message();
    return y.ok() ? bits_at(y->output, 0) : ~std::uint64_t{0};
  }
  Layer layer;
};

// PRO-17, with partials 0x3F806000 and 0x3B400000 in F32.
TEST(ProfileStreamK, PartialsAreBf16) {
  Row row(64);
  row.x(0, 1).x(1, 3 * two(-10)).x(32, 3 * two(-10));
  EXPECT_EQ(row.bits("order=streamk(2)"), 0x3F80U);
  EXPECT_EQ(row.bits("order=split(2)"), 0x3F81U);
  EXPECT_EQ(row.bits("order=seq"), 0x3F81U);
  EXPECT_EQ(row.bits("order=streamk(1)"), 0x3F81U);
  EXPECT_EQ(row.bits("order=streamk(2) accumulation=exact"), 0x3F80U);
  EXPECT_EQ(row.bits("order=split(2) accumulation=exact"), 0x3F81U);
  EXPECT_EQ(row.bits("order=streamk(2)*lanes(4,8)+shfl accumulation=hopper"), 0x3F80U);
}

// PRO-16: also one slice is a BF16 number before it is weighed.
TEST(ProfileStreamK, OneSliceIsBf16) {
  Problem problem({1, 1, 32, 1, 1}, {Dtype::kBF16, Dtype::kF32, Dtype::kF32, Dtype::kI32});
  problem.x(0).x(0, 0, 1).x(0, 1, 3 * two(-10)).shared({-1});
  EXPECT_EQ(output(problem, "order=streamk(1)"), 0U);
  EXPECT_EQ(output(problem, "order=streamk(1) accumulation=exact"), 0U);
  EXPECT_EQ(output(problem, "order=split(1)"), encode(Dtype::kBF16, 3 * two(-10)));
}

TEST(ProfileStreamK, TheLastSliceIsFirst) {
  Row up(96);
  up.x(0, 1).x(32, two(-8)).x(64, two(-8));
  EXPECT_EQ(up.bits("order=streamk(3)"), 0x3F81U) << "2^-8 + 2^-8, then 1";
  Row down(96);
  down.x(0, two(-8)).x(32, two(-8)).x(64, 1);
  EXPECT_EQ(down.bits("order=streamk(3)"), 0x3F80U) << "1 + 2^-8 is a tie, twice";
  EXPECT_EQ(down.bits("order=split(3)"), 0x3F81U);
}

// PRO-14 on two tiles: four steps of 32 each, three blocks, so that the cuts are at steps 3 and 6 of 8.
TEST(ProfileStreamK, TilesAreCutByTheLaunch) {
  Row row(128, 2);
  row.x(0, 1).x(64, 3 * two(-10)).x(96, 3 * two(-10));
  const std::int32_t ids[] = {0}, experts[] = {0}, count = 1;
  const IndexedInputs in{row.layer.tokens.view(),
                         row.layer.weights(),
                         {Dtype::kI32, {1}, ids, {}},
                         {Dtype::kI32, {1}, experts, {}},
                         {Dtype::kI32, {}, &count, {}}};
  const Result<RowsResult> y = declared_indexed(in, arithmetic("order=streamk(1)"), StreamKGrid{3, 1, 32});
  ASSERT_TRUE(y.ok()) << y.error().message();
  EXPECT_EQ(bits_at(y->output, 0), 0x3F80U) << "1 + 3·2^-10 is rounded, then 3·2^-10";
  EXPECT_EQ(bits_at(y->output, 1), 0x3F81U) << "1, then 6·2^-10";
  EXPECT_EQ(y->written, std::vector<std::uint8_t>{1});

  const auto refused = [&](std::string_view text, const StreamKGrid& grid) {
    const Result<RowsResult> result = declared_indexed(in, arithmetic(text), grid);
    return result.ok() ? std::string("accepted") : result.error().field;
  };
  EXPECT_EQ(refused("order=seq", {3, 1, 32}), "order");
  EXPECT_EQ(refused("order=streamk(1)", {0, 1, 32}), "blocks");
  EXPECT_EQ(refused("order=streamk(1)", {3, 4, 32}), "block_n");
  EXPECT_EQ(refused("order=streamk(1)", {3, 1, 48}), "block_k");
  EXPECT_EQ(refused("order=streamk(1)", {8, 1, 32}), "blocks") << "four slices of a tile";
}

// ---- accumulations ----

// The sum of ACC's first example, the leading term in one step and the rest in another: weights 2^10.
TEST(ProfileAccumulation, GenerationsDiffer) {
  Problem problem({1, 1, 32, 1, 1}, {Dtype::kF16, Dtype::kF32, Dtype::kF16, Dtype::kI32});
  problem.x(0).scale(137);
  problem.x(0, 0, two(13)).x(0, 16, -two(13)).x(0, 17, -two(-11)).x(0, 18, -two(-12)).x(0, 19, -two(-13));
  const auto y = [&](const std::string& name) { return output(problem, "order=seq accumulation=" + name); };
  EXPECT_EQ(y("exact"), encode(Dtype::kF16, -0.875));
  EXPECT_EQ(y("f32_sequential"), encode(Dtype::kF16, -0.875));
  EXPECT_EQ(y("volta"), 0U);
  EXPECT_EQ(y("turing"), encode(Dtype::kF16, -0.5));
  EXPECT_EQ(y("ampere"), encode(Dtype::kF16, -0.5));
  EXPECT_EQ(y("ada"), encode(Dtype::kF16, -0.5));
  EXPECT_EQ(y("hopper"), encode(Dtype::kF16, -0.75));
  EXPECT_EQ(y("blackwell"), encode(Dtype::kF16, -0.75));
}

// 2^24 + 1 + 1 in one step of 16 is exact, in steps of 8 the first 1 is cut; in chains of 8 each is a step.
TEST(ProfileAccumulation, ChainsAreCutIntoSteps) {
  Row row(32);
  row.x(0, two(24)).x(1, 1).x(8, 1).x(9, -two(24));
  EXPECT_EQ(row.bits("order=seq accumulation=hopper"), encode(Dtype::kBF16, 2));
  EXPECT_EQ(row.bits("order=seq accumulation=ampere"), encode(Dtype::kBF16, 1));
  EXPECT_EQ(row.bits("order=groups(8) accumulation=hopper"), encode(Dtype::kBF16, 1))
      << "2^24, then 1 - 2^24";
  EXPECT_EQ(row.bits("order=lanes(2,8)+seq accumulation=hopper"), encode(Dtype::kBF16, 1));
  // 24 indices a chain: a whole step, then a short one.
  Row tail(96);
  tail.x(0, two(24)).x(16, 1).x(23, -two(24));
  EXPECT_EQ(tail.bits("order=groups(24) accumulation=hopper"), encode(Dtype::kBF16, 1));
}

// Joins are F32, to nearest even; a tensor core cuts.
TEST(ProfileAccumulation, JoinsAreNotSteps) {
  Row row(64);
  row.x(0, two(24)).x(1, 2).x(32, 1).x(48, -two(24));
  EXPECT_EQ(row.bits("order=seq accumulation=hopper"), encode(Dtype::kBF16, 2));
  // (2^24 + 2) + 1 is 2^24 + 4 by the tie; then - 2^24.
  EXPECT_EQ(row.bits("order=groups(16) accumulation=hopper"), encode(Dtype::kBF16, 4));
}

// ---- weights ----

TEST(ProfileWeight, AboveBf16) {
  Problem problem({1, 1, 32, 1, 1});
  problem.x(0).x(0, 0, two(-20)).code(7).scale(254);  // 6·2^127
  for (const char* text : {"weight=exact", "weight=exact accumulation=exact"}) {
    EXPECT_EQ(output(problem, text), encode(Dtype::kBF16, 6 * two(107))) << text;
  }
  for (const char* text : {"weight=bf16", "weight=bf16 accumulation=exact", "accumulation=hopper",
                           "weight=bf16 accumulation=ampere"}) {
    EXPECT_EQ(output(problem, text), 0x7FC0U) << text << ": Inf times the tokens that are zero";
  }
  problem.code(0).code(0, 0, 0, 7);
  EXPECT_EQ(output(problem, "weight=bf16"), 0x7F80U);
  EXPECT_EQ(output(problem, "accumulation=hopper"), 0x7F80U);
  problem.scale(253).code(0, 0, 0, 5);  // 3·2^126 is in range
  EXPECT_EQ(output(problem, "weight=bf16"), encode(Dtype::kBF16, 3 * two(106)));
}

// ACC-6: the operands of a tensor core have the dtype of the tokens, so that F16 cuts the range of weights.
TEST(ProfileWeight, F16OperandsOfTensorCores) {
  Problem problem({1, 1, 32, 1, 1}, {Dtype::kF16, Dtype::kF32, Dtype::kF32, Dtype::kI32});
  problem.code(0).code(0, 0, 0, 7).scale(143).x(0, 0, two(-10));  // 6·2^16 is above 65504
  EXPECT_EQ(output(problem, "accumulation=f32_sequential"), encode(Dtype::kF16, 384));
  EXPECT_EQ(output(problem, "accumulation=volta"), 0x7C00U);
  problem.scale(102).x(0, 0, 1024);  // 6·2^-25 is 3 of F16's smallest subnormals
  EXPECT_EQ(output(problem, "accumulation=f32_sequential"), encode(Dtype::kF16, 3 * two(-14)));
  EXPECT_EQ(output(problem, "accumulation=hopper"), encode(Dtype::kF16, 3 * two(-14)));
  problem.scale(101);  // 6·2^-26 is 1.5 of them, and rounds to 2
  EXPECT_EQ(output(problem, "accumulation=f32_sequential"), encode(Dtype::kF16, 1.5 * two(-14)));
  EXPECT_EQ(output(problem, "accumulation=hopper"), encode(Dtype::kF16, 2 * two(-14)));
}

TEST(ProfileWeight, Ftz) {
  Problem problem({1, 1, 32, 1, 1});
  problem.x(0).code(1).scale(0).x(0, 0, two(20));  // 2^-128 · 2^20
  EXPECT_EQ(output(problem, "ftz=no"), encode(Dtype::kBF16, two(-108)));
  EXPECT_EQ(output(problem, "ftz=yes"), 0U);
  EXPECT_EQ(output(problem, "ftz=yes accumulation=hopper"), encode(Dtype::kBF16, two(-108)))
      << "a tensor core flushes nothing";
  problem.scale(127).x(0, 0, two(-129));  // 2^-130, not flushed by the tensor core, but as an operand of p·d
  EXPECT_EQ(output(problem, "ftz=no accumulation=hopper"), encode(Dtype::kBF16, two(-130)));
  EXPECT_EQ(output(problem, "ftz=yes accumulation=hopper"), 0U);
}

// One INT4 row with weights of scale and code everywhere, BF16 tokens.
std::uint64_t int4_row(std::int64_t in, std::uint64_t scale, std::uint8_t code, const std::vector<double>& x,
                       std::string_view text) {
  Layer layer(WeightFormat::kInt4, 1, 1, in, 1);
  layer.scale_bits(0, scale);
  for (std::int64_t i = 0; i < in; ++i) layer.code(0, 0, i, code);
  fill(layer.tokens, 0);
  for (std::size_t i = 0; i < x.size(); ++i) set(layer.tokens, static_cast<std::int64_t>(i), x[i]);
  const std::int32_t index = 0;
  const GroupedContiguousInputs inputs{layer.tokens.view(), layer.weights(), {Dtype::kI32, {1}, &index, {}}};
  const Result<RowsResult> y = declared_grouped_contiguous(inputs, arithmetic(text));
  EXPECT_TRUE(y.ok()) << y.error().message();
  return y.ok() ? bits_at(y->output, 0) : ~std::uint64_t{0};
}

TEST(ProfileDequant, OrdersInsideADotProduct) {
  for (const char* accumulation : {"", " accumulation=exact"}) {
    const auto alone = [&](const std::string& order) {
      return int4_row(32, 0x3BA4, 1, {3}, "dequant=" + order + accumulation);
    };
    EXPECT_EQ(alone("norm"), 0xBDD8U);
    EXPECT_EQ(alone("exactw"), 0xBDD7U);
    EXPECT_EQ(alone("accumulator_scale"), 0xBDD7U);
    const auto coherent = [&](const std::string& order) {
      return int4_row(7168, 0x3BA9, 1, std::vector<double>(7168, 1), "dequant=" + order + accumulation);
    };
    EXPECT_EQ(coherent("norm"), 0xC382U);
    EXPECT_EQ(coherent("exactw"), 0xC381U);
    EXPECT_EQ(coherent("accumulator_scale"), 0xC381U);
    const auto weight = [&](const std::string& order, std::uint64_t scale, std::uint8_t code) {
      return int4_row(32, scale, code, {1}, "dequant=" + order + accumulation);
    };
    EXPECT_EQ(weight("fma", 0x3BA4, 0), 0xBD20U);
    EXPECT_EQ(weight("two_roundings", 0x3BA4, 7), 0xBBA0U);
    EXPECT_EQ(weight("truncate", 0x3BA4, 1), 0xBD0FU);
    EXPECT_EQ(weight("ties_away", 0x3BA7, 2), 0xBCFBU);
    EXPECT_EQ(weight("f16_multiply", 0x3401, 0), 0xB580U);
    EXPECT_EQ(weight("zero_point_7", 0x3BA4, 0), 0xBD10U);
    EXPECT_EQ(weight("twos_complement", 0x3BA4, 0), 0x0000U);
    EXPECT_EQ(weight("f32_scale", 0x3BA4, 0), 0xBD24U);
  }
  EXPECT_EQ(int4_row(32, 0x3BA4, 1, {3}, "dequant=accumulator_scale accumulation=hopper"), 0xBDD7U);
}

// ACC-16: a run begins at +0 and enters as s·r. q = 1, s = 3: 2^24 + 1 - 2^24 is 0 in a run, and 3·2^24 + 3 -
// 3·2^24 is 4 where each weight is 3.
TEST(ProfileDequant, TheScaleOnTheAccumulator) {
  const std::vector<double> x = {two(24), 1, -two(24)};
  EXPECT_EQ(int4_row(32, 0x4040, 9, x, "dequant=exactw order=seq"), encode(Dtype::kBF16, 4));
  EXPECT_EQ(int4_row(32, 0x4040, 9, x, "dequant=accumulator_scale order=seq"), 0U);
  // In lanes of one column each x is a run of its own: 3·2^24, 3, -3·2^24, the second joined last.
  EXPECT_EQ(int4_row(32, 0x4040, 9, x, "dequant=accumulator_scale order=lanes(2,1)+seq"),
            encode(Dtype::kBF16, 3));
  // Two groups: a run each, in one chain.
  std::vector<double> two_groups(33, 0);
  two_groups[0] = two(24);
  two_groups[32] = 1;
  two_groups.push_back(-two(24));
  EXPECT_EQ(int4_row(64, 0x4040, 9, two_groups, "dequant=accumulator_scale order=seq"),
            encode(Dtype::kBF16, 3))
      << "2^24 is one run, 1 - 2^24 the other, both exact";
  EXPECT_EQ(int4_row(64, 0x4040, 9, two_groups, "dequant=exactw order=seq"), encode(Dtype::kBF16, 4));
}

// INT-10 with nothing rounded: an infinite scale is NaN only for a group whose sum is zero.
TEST(ProfileDequant, InfiniteScales) {
  EXPECT_EQ(int4_row(32, 0x7F80, 9, {1, 2}, "dequant=accumulator_scale accumulation=exact"), 0x7F80U);
  EXPECT_EQ(int4_row(32, 0x7F80, 9, {1, -1}, "dequant=accumulator_scale accumulation=exact"), 0x7FC0U);
  EXPECT_EQ(int4_row(32, 0x7F80, 9, {1, 2}, "dequant=exactw accumulation=exact"), 0x7FC0U)
      << "Inf times the zeros";
  // Lanes cut the group, but exactly there is no cut.
  EXPECT_EQ(int4_row(32, 0x7F80, 9, {1, -1, 3},
                     "dequant=accumulator_scale accumulation=exact order=lanes(2,1)+seq"),
            0x7F80U);
}

// ---- combine ----

TEST(ProfileCombine, RoundsAsDeclared) {
  Tensor rows(Dtype::kBF16, {2, 1});
  Tensor p(Dtype::kF32, {1, 2});
  Tensor shared(Dtype::kF32, {1, 1});
  set(rows, 0, 1 + two(-7));
  set(rows, 1, 1);
  set(p, 0, 1 + two(-7));
  set(p, 1, two(-8));
  set(shared, 0, -1);
  const CombineInputs in{rows.view(), p.view(), std::nullopt, shared.view()};
  const auto y = [&](std::string_view text, Dtype dtype = Dtype::kBF16) {
    const Result<Tensor> result = declared_combine(in, dtype, arithmetic(text));
    EXPECT_TRUE(result.ok()) << result.error().message();
    return result.ok() ? bits_at(*result, 0) : ~std::uint64_t{0};
  };
  // p·r = 1 + 2^-6 + 2^-14, and 2^-8. Their sum 1 + 2^-6 + 2^-8 + 2^-14 is above the tie of BF16 at 2^-8.
  EXPECT_EQ(y("profile=once"), encode(Dtype::kBF16, two(-6) + two(-8)));
  EXPECT_EQ(y("profile=hf"), encode(Dtype::kBF16, two(-6) + two(-7)));
  EXPECT_EQ(y("profile=late"), encode(Dtype::kBF16, two(-6))) << "2^-14 is gone and 2^-8 a tie";
  EXPECT_EQ(y("profile=late_bf16_sum"), encode(Dtype::kBF16, two(-6)));
  EXPECT_EQ(y("profile=late", Dtype::kF64), encode(Dtype::kF64, two(-6) + two(-8) + two(-14)));
  EXPECT_EQ(y("profile=once accumulation=hopper order=streamk(7)"), y("profile=once"));
  const Result<Tensor> refused = declared_combine(in, Dtype::kBF16, arithmetic("profile=early"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().field, "profile");
}

// ---- refusals ----

TEST(Profile, RefusesWhatNothingComputes) {
  Problem problem({1, 1, 32, 1, 1}, {Dtype::kF32, Dtype::kF32, Dtype::kF32, Dtype::kI32});
  const auto field = [&](std::string_view text) {
    const Result<Tensor> y = declared_expert_linear(linear_inputs(problem.inputs()), arithmetic(text));
    return y.ok() ? std::string("accepted") : y.error().field;
  };
  EXPECT_EQ(field("accumulation=hopper"), "accumulation");
  EXPECT_EQ(field("order=streamk(2)"), "order");
  EXPECT_EQ(field("dequant=fma"), "dequant");
  problem.ids({1});
  EXPECT_EQ(field("profile=late"), "selected_experts") << "the operation's own rules come first";
}

}  // namespace
}  // namespace moe4::test
