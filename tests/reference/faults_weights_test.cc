// Cases made for known kinds of wrong kernels, by class: A scale decoding, B code meaning, C scale
// addressing, D tail of I, E outputs. Each has its right value and, in brackets, what the fault would give.
// The other classes are in faults_routing_test.cc.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "tests/reference/problem.h"

namespace moe4::test {
namespace {

const double kNan = std::nan("");

// A: scale decoding.

TEST(Faults, A1_Byte0IsNotZeroAndByte255IsNotInf) {
  expect_output(Problem().scale(0).x(0x1p122), 1.0, "[0]");
  expect_output(Problem().scale(255), kNan, "[Inf]");
}

TEST(Faults, A2_Byte0GivesNormalsAndSubnormals) {
  const auto decode_at_byte_0 = [](std::uint8_t code) {
    Problem problem({}, {.x = Dtype::kF32});
    return bits_at(*problem.code(0).code(0, 0, 0, code).scale(0).run(), 0);
  };
  EXPECT_EQ(decode_at_byte_0(7), 0x01400000U) << "6 · 2^-127 is normal [0 where byte 0 is zero]";
  EXPECT_EQ(decode_at_byte_0(1), 0x00200000U) << "2^-128 is subnormal [0 where subnormals are flushed too]";
}

TEST(Faults, A3_TheScaleValue128IsNoNan) {
  Problem problem({.in = 64});
  expect_output(problem.scale(0, 0, 0, 134), 4128, "32·128 + 32 [NaN]");
  for (int byte = 0; byte < 256; ++byte) {
    Problem one({}, {.x = Dtype::kF64});
    expect_output(one.scale(static_cast<std::uint8_t>(byte)),
                  byte == 255 ? kNan : std::ldexp(32.0, byte - 127));
  }
}

TEST(Faults, A4_NoExponentRunsIntoTheSign) {
  for (const std::int64_t tokens : {1, 8, 9}) {
    Problem low({.tokens = tokens});
    for (std::int64_t t = 0; t < tokens; ++t) low.x(t, 0, 0x1p120);
    expect_output(low.code(0).code(0, 0, 0, 1).scale(0), 0.00390625, "[-Inf, or 0]");
    Problem high({.tokens = tokens});
    for (std::int64_t t = 0; t < tokens; ++t) high.x(t, 0, 0x1p-100);
    expect_output(high.code(0).code(0, 0, 0, 7).scale(254), 805306368, "[Inf]");
  }
}

TEST(Faults, A5_AllZeroScalesAreLegal) {
  expect_output(Problem().scale(120), 0.25);
  expect_output(Problem().scale(127), 32);
  expect_output(Problem({}, {.x = Dtype::kF32}).scale(0), 0x1p-122);
  Problem placeholder({.experts = 2});
  expect_output(placeholder.scale(1, 0, 0, 0).ids({0}), 32, "an expert that nobody selects");
}

// B: code meaning.

TEST(Faults, B1_FirstElementIsTheLowNibble) {
  Problem problem;
  problem.code(0).byte(0, 0, 0, 0x64).x(0);
  expect_output(problem.x(0, 0, 1), 2, "[4]");
  expect_output(problem.x(0, 0, 0).x(0, 1, 1), 4, "[2]");
}

TEST(Faults, B5_RowsAreHalfAByteAnElement) {
  Problem problem({.in = 64, .out = 2});
  for (int j = 0; j < 32; ++j) problem.byte(0, 1, j, 0x44);
  expect_outputs(problem, {64, 128}, "[a mixture of the rows]");
}

// C: scale addressing.

Problem four_groups() {
  Problem problem({.in = 128});
  for (int g = 0; g < 4; ++g) problem.scale(0, 0, g, static_cast<std::uint8_t>(127 + g));
  return problem;
}

TEST(Faults, C1_EveryGroupHasItsScale) { expect_output(four_groups(), 480, "[128: group 0 everywhere]"); }

TEST(Faults, C2_APartOfIAndItsPartOfTheScales) {
  const Problem whole = four_groups();
  double sum = 0;
  for (int part = 0; part < 2; ++part) {
    ExpertLinearInputs in = whole.inputs();
    in.latent_tokens.shape = {1, 64};
    in.packed_weights = {Dtype::kU8, {1, 1, 2, 16}, whole.packed_weights.data() + 32 * part, {64, 64, 16, 1}};
    in.scale_bytes = {Dtype::kU8, {1, 1, 2}, whole.scale_bytes.data() + 2 * part, {4, 4, 1}};
    Tensor output(Dtype::kBF16, {1, 1});
    ASSERT_FALSE(mxfp4_expert_linear(in, output.mutable_view()).has_value());
    const double right = part == 0 ? 96 : 384;
    EXPECT_EQ(bits_at(output, 0), encode(Dtype::kBF16, right)) << "[240]";
    sum += right;
  }
  EXPECT_EQ(sum, 480);
}

TEST(Faults, C3_CodesOfEveryGroupCount) {
  Problem problem({.in = 128});
  const std::uint8_t codes[4] = {0, 2, 4, 5};
  for (int i = 0; i < 128; ++i) problem.code(0, 0, i, codes[i / 32]);
  expect_output(problem, 32 * (0 + 1 + 2 + 3), "[0: the first group everywhere]");
}

// One-hot tokens read each (row, group) by itself: 2^(row - 67), then 2^(group - 67).
TEST(Faults, C4_ScaleAddressOfEveryRowAndGroup) {
  for (const bool by_row : {true, false}) {
    Problem problem({.tokens = 256, .in = 256, .out = 64});
    problem.x(0);
    for (int i = 0; i < 256; ++i) problem.x(i, i, 1);
    for (int n = 0; n < 64; ++n) {
      for (int g = 0; g < 8; ++g) problem.scale(0, n, g, static_cast<std::uint8_t>(60 + (by_row ? n : g)));
    }
    std::vector<double> expected;
    for (int k = 0; k < 256; ++k) {
      for (int n = 0; n < 64; ++n) expected.push_back(std::ldexp(1.0, (by_row ? n : k / 32) - 67));
    }
    expect_outputs(problem, expected);
  }
}

TEST(Faults, C5_PaddedScaleRows) {
  const Problem problem({.in = 96, .out = 2});
  const std::vector<std::uint8_t> padded = {127, 127, 127, 132, 128, 128, 128, 132};
  ExpertLinearInputs in = problem.inputs();
  in.scale_bytes = {Dtype::kU8, {1, 2, 3}, padded.data(), {8, 4, 1}};
  Tensor output(Dtype::kBF16, {1, 2});
  ASSERT_FALSE(mxfp4_expert_linear(in, output.mutable_view()).has_value());
  EXPECT_EQ(bits_at(output, 0), encode(Dtype::kBF16, 96));
  EXPECT_EQ(bits_at(output, 1), encode(Dtype::kBF16, 192)) << "[1152]";
}

TEST(Faults, C6_AnOddNumberOfGroups) {
  Problem problem({.in = 352});
  expect_output(problem.scale(0, 0, 10, 130), 576, "[320]");
}

// D and E: the tail of I, the outputs.

TEST(Faults, D1_D2_TailsOfI) {
  for (const std::int64_t in : {32, 64, 96, 128, 160, 352, 544, 608}) {
    Problem problem({.tokens = 16, .experts = 8, .in = in, .top_k = 1});
    for (int t = 0; t < 16; ++t) set(problem.selected_experts, t, t / 2);
    expect_output(problem, static_cast<double>(in), "sorted");
    for (int t = 0; t < 16; ++t) set(problem.selected_experts, t, t * 5 % 8);
    expect_output(problem, static_cast<double>(in), "unsorted");
  }
}

TEST(Faults, D3_NothingIsReadBehindTheLastExpert) {
  const Problem problem({.tokens = 1, .experts = 1, .in = 2880, .out = 3, .top_k = 2});
  const GuardedBytes codes(2 * 3 * 1440);
  const GuardedBytes scales(2 * 3 * 90);
  std::memset(codes.data(), 0x22, 2 * 3 * 1440);
  std::memset(scales.data(), 127, 2 * 3 * 90);
  ExpertLinearInputs in = problem.inputs();
  const std::vector<std::int64_t> ids = {0, 1};
  in.selected_experts = {Dtype::kI64, {1, 2}, ids.data(), {}};
  in.packed_weights = {Dtype::kU8, {2, 3, 90, 16}, codes.data(), {}};
  in.scale_bytes = {Dtype::kU8, {2, 3, 90}, scales.data(), {}};
  Tensor output(Dtype::kBF16, {1, 3});
  ASSERT_FALSE(mxfp4_expert_linear(in, output.mutable_view()).has_value());
  for (int o = 0; o < 3; ++o)
    EXPECT_EQ(bits_at(output, o), encode(Dtype::kBF16, 5760)) << "[a crash, or NaN]";
}

TEST(Faults, D4_ScalePaddingDoesNotMatter) {
  const Problem problem({.in = 2880, .out = 2});
  for (const std::uint8_t padding : {0x00, 0x7F, 0xFF}) {
    std::vector<std::uint8_t> scales(2 * 92, padding);
    for (int o = 0; o < 2; ++o) std::memset(scales.data() + 92 * o, 127, 90);
    ExpertLinearInputs in = problem.inputs();
    in.scale_bytes = {Dtype::kU8, {1, 2, 90}, scales.data(), {184, 92, 1}};
    Tensor output(Dtype::kBF16, {1, 2});
    ASSERT_FALSE(mxfp4_expert_linear(in, output.mutable_view()).has_value());
    for (int o = 0; o < 2; ++o) EXPECT_EQ(bits_at(output, o), encode(Dtype::kBF16, 2880)) << "[NaN]";
  }
}

TEST(Faults, D6_TheNextTokenDoesNotSpill) {
  for (const int poisoned : {0, 1}) {
    Problem problem({.tokens = 2, .in = 96});
    for (int i = 0; i < 96; ++i) problem.x(poisoned, i, kNan);
    expect_outputs(problem, poisoned == 0 ? std::vector{kNan, 96.0} : std::vector{96.0, kNan});
  }
}

TEST(Faults, E1_E2_EveryOutputIsWritten) {
  for (const std::int64_t out : {1, 4, 8, 9, 33, 63, 64, 65, 129, 256}) {
    Problem problem({.in = 128, .out = out});
    expect_output(problem, 128, "[unwritten]");
  }
}

}  // namespace
}  // namespace moe4::test
