// The worked examples of the statement.
#include <gtest/gtest.h>

#include "tests/reference/problem.h"

namespace moe4::test {
namespace {

// Example 1: T=1, I=32, O=1, every byte 34 = 0x22 (codes 2 and 2, 1.0 each), scale 127 (1), tokens 1: 32 · 1
// = 32.
TEST(Examples, OneIsThirtyTwo) {
  Problem problem;
  for (int j = 0; j < 16; ++j) problem.byte(0, 0, j, 34);
  expect_output(problem, 32.0);
}

// The sums that examples 2 and 3 need, by hand. v(c) is the value of code c; v(8 + c) = -v(c).
//   A = Σ_{c<8} v(c)·c = 0.5·1 + 1·2 + 1.5·3 + 2·4 + 3·5 + 4·6 + 6·7 = 96
//   B = Σ_{c<8} v(c)   = 0.5 + 1 + 1.5 + 2 + 3 + 4 + 6 = 18
//   over all 16 codes:  Σ v(c) = 0,  Σ v(c)·c = A - (A + 8·B) = -144
// A block is 16 bytes that hold the codes 0..15 in the low nibbles and one code h in all high nibbles; with
// the tokens x_i = a + i (i = 0..31) its sum is
//   low nibbles rising (byte j = h<<4 | j):         Σ v(j)·(a + 2j)      = 2·(-144)      = -288
//   low nibbles falling (byte j = h<<4 | (15 - j)): Σ v(15-j)·(a + 2j)   = -2·(-144)     = 288
//   high nibbles:                                   v(h)·Σ (a + 2j + 1)  = v(h)·(16·a + 256)
void set_block(Problem& problem, int e, int o, int g, int high, bool rising) {
  for (int j = 0; j < 16; ++j) {
    problem.byte(e, o, 16 * g + j, static_cast<std::uint8_t>(high << 4 | (rising ? j : 15 - j)));
  }
}

// Example 2: T=1, I=32, E=2, O=1, top_k=2. Tokens 200..231, bytes 80..95 and 96..111, scale bytes 129 and
// 126, ids 1 and 0, p 0.75 and 0.25, shared 36.5: no two numbers are the same.
//   d of expert 0: h = 5 (3.0), rising:  4   · (-288 + 3·(16·200 + 256)) = 4 · (-288 + 10368) = 40320
//   d of expert 1: h = 6 (4.0), falling: 0.5 · (288 + 4·3456)            = 0.5 · 14112        = 7056
//   y = 36.5 + 0.75·7056 + 0.25·40320 = 36.5 + 5292 + 10080 = 15408.5
//   BF16: the grid is 64 here, 15408.5 / 64 = 240.8 → 241·64 = 15424
Problem example2(Dtype tokens) {
  Problem problem({.experts = 2, .top_k = 2}, {.x = tokens, .id = Dtype::kI64});
  for (int i = 0; i < 32; ++i) problem.x(0, i, 200 + i);
  set_block(problem, 0, 0, 0, 5, true);
  set_block(problem, 1, 0, 0, 6, false);
  return problem.scale(0, 0, 0, 129).scale(1, 0, 0, 126).ids({1, 0}).p({0.75, 0.25}).shared({36.5});
}

TEST(Examples, TwoExpertsAreMixed) {
  expect_output(example2(Dtype::kF32), 15408.5);
  expect_output(example2(Dtype::kF64), 15408.5);
  expect_output(example2(Dtype::kBF16), 15424);
  // F16: the grid is 8, 15408.5 / 8 = 1926.06 → 15408.
  expect_output(example2(Dtype::kF16), 15408);
}

// Example 3: T=1, I=64, E=2, O=2, G=2, top_k=1. Tokens 64.5..127.5; every block has its own high nibble and
// every row and group its own scale byte; the id is 1, so the four blocks of expert 0 play no part.
//   group 0: a = 64.5, 16a + 256 = 1288;  group 1: a = 96.5, 16a + 256 = 1800
//   row 0: h = 5 (3.0), rising,  byte 128: 2   · (-288 + 3·1288)   = 2 · 3576     = 7152
//          h = 6 (4.0), falling, byte 124: 1/8 · (288 + 4·1800)    = 7488 / 8     = 936    d = 8088
//   row 1: h = 9 (-0.5), rising,  byte 130: 8   · (-288 - 0.5·1288) = 8 · -932    = -7456
//          h = 10 (-1), falling, byte 125: 1/4 · (288 - 1800)      = -1512 / 4    = -378   d = -7834
//   y = [-3.25 + 0.375·8088, 5.75 + 0.375·-7834] = [-3.25 + 3033, 5.75 - 2937.75] = [3029.75, -2932]
//   BF16 (grid 16): 3029.75 / 16 = 189.4 → 3024;  2932 / 16 = 183.25 → -2928
Problem example3(Dtype tokens) {
  Problem problem({.experts = 2, .in = 64, .out = 2}, {.x = tokens});
  for (int i = 0; i < 64; ++i) problem.x(0, i, 64.5 + i);
  set_block(problem, 0, 0, 0, 1, true);
  set_block(problem, 0, 0, 1, 2, false);
  set_block(problem, 0, 1, 0, 3, true);
  set_block(problem, 0, 1, 1, 4, false);
  set_block(problem, 1, 0, 0, 5, true);
  set_block(problem, 1, 0, 1, 6, false);
  set_block(problem, 1, 1, 0, 9, true);
  set_block(problem, 1, 1, 1, 10, false);
  problem.scale(0, 0, 0, 123).scale(0, 0, 1, 131).scale(0, 1, 0, 129).scale(0, 1, 1, 126);
  problem.scale(1, 0, 0, 128).scale(1, 0, 1, 124).scale(1, 1, 0, 130).scale(1, 1, 1, 125);
  return problem.ids({1}).p({0.375}).shared({-3.25, 5.75});
}

TEST(Examples, RowsAndGroupsAreKeptApart) {
  expect_outputs(example3(Dtype::kF32), {3029.75, -2932});
  expect_outputs(example3(Dtype::kF64), {3029.75, -2932});
  expect_outputs(example3(Dtype::kBF16), {3024, -2928});
}

// Byte 0x21 at scale 128 holds 2·0.5 = 1.0, then 2·1 = 2.0.
TEST(Examples, LowNibbleFirst) {
  Problem problem;
  problem.code(0).byte(0, 0, 0, 0x21).scale(128).x(0);
  problem.x(0, 0, 1.0);
  expect_output(problem, 1.0);
  problem.x(0, 0, 0.0).x(0, 1, 1.0);
  expect_output(problem, 2.0);
}

TEST(Examples, Scale126IsOneHalf) {
  Problem problem;
  problem.code(0).code(0, 0, 0, 2).scale(126);
  expect_output(problem, 0.5);
}

// The six-argument form, by the statement's name.
TEST(Examples, SixArguments) {
  const Problem problem = example2(Dtype::kF32);
  const Result<Tensor> output = mxfp4_expert_linear(
      problem.latent_tokens.view(), problem.packed_weights.view(), problem.scale_bytes.view(),
      problem.selected_experts.view(), problem.mixture_weights.view(), problem.shared_output.view());
  ASSERT_TRUE(output.ok()) << output.error().message();
  EXPECT_EQ(output->dtype(), Dtype::kF32);
  EXPECT_EQ(output->shape(), (Shape{1, 1}));
  EXPECT_EQ(bits_at(*output, 0), encode(Dtype::kF32, 15408.5));
  const Result<Tensor> refused = mxfp4_expert_linear(
      problem.latent_tokens.view(), problem.packed_weights.view(), problem.scale_bytes.view(),
      problem.selected_experts.view(), problem.mixture_weights.view(), problem.latent_tokens.view());
  EXPECT_FALSE(refused.ok());
}

}  // namespace
}  // namespace moe4::test
