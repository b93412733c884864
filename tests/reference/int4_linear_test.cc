// int4_expert_linear: INT-6 to INT-8, and LIN through INT4 weights.
#include <gtest/gtest.h>

#include <cmath>

#include "reference/linear/exact_output.h"
#include "reference/linear/int4_expert_linear.h"
#include "tests/reference/problem.h"
#include "tests/reference/routing_problem.h"

namespace moe4::test {
namespace {

// A layer with one slot a token, p = 1, expert 0, shared output 0.
struct Call {
  Call(std::int64_t tokens, std::int64_t experts, std::int64_t in, std::int64_t out, std::int64_t top_k = 1)
      : layer(WeightFormat::kInt4, tokens, experts, in, out),
        ids(Dtype::kI32, {tokens, top_k}),
        p(Dtype::kF32, {tokens, top_k}),
        shared(Dtype::kBF16, {tokens, out}) {
    fill(p, 1);
  }
  LinearInputs inputs() const {
    return {layer.tokens.view(), layer.weights(), ids.view(), p.view(), shared.view()};
  }
  Result<Tensor> run() const {
    return int4_expert_linear(layer.tokens.view(), layer.packed_weights.view(), layer.scales.view(),
                              ids.view(), p.view(), shared.view());
  }
  std::uint64_t first() const { return bits_at(run().value(), 0); }

  Layer layer;
  Tensor ids;
  Tensor p;
  Tensor shared;
};

TEST(Int4Linear, EachElementMeetsItsToken) {
  Call call(64, 2, 64, 3);
  fill(call.layer.tokens, 0);
  for (int t = 0; t < 64; ++t) set(call.layer.tokens, t * 64 + t, 1);
  for (int o = 0; o < 3; ++o) {
    for (int i = 0; i < 64; ++i) call.layer.code(1, o, i, static_cast<std::uint8_t>((5 * i + o) % 16));
    set(call.layer.scales, (3 + o) * 2 + 1, 0.5);
  }
  fill(call.ids, 1);
  const Tensor y = call.run().value();
  for (int t = 0; t < 64; ++t) {
    for (int o = 0; o < 3; ++o) {
      const double q = (5 * t + o) % 16 - 8;
      EXPECT_EQ(bits_at(y, t * 3 + o), encode(Dtype::kBF16, q == 0 ? 0.0 : t < 32 ? q : q / 2)) << t;
    }
  }
}

TEST(Int4Linear, TheWeightIsRoundedAndNothingElse) {
  Call call(1, 1, 32, 1);
  fill(call.layer.tokens, 0);
  set(call.layer.tokens, 0, 3);
  call.layer.code(0, 0, 0, 1).scale_bits(0, 0x3BA4);
  EXPECT_EQ(call.first(), 0xBDD8U) << "[0xBDD7: not rounded]";

  Call coherent(1, 1, 7168, 1);
  for (int i = 0; i < 7168; ++i) coherent.layer.code(0, 0, i, 1);
  coherent.layer.scale_bits(0, 0x3BA9);
  EXPECT_EQ(coherent.first(), 0xC382U) << "[0xC381]";
}

TEST(Int4Linear, NonFiniteWeights) {
  Call call(1, 1, 32, 1);
  call.layer.code(0, 0, 0, 15).scale_bits(0, 0x7E92);  // 7·1.14·2^126 overflows, 1.14·2^126 does not
  EXPECT_EQ(call.first(), 0x7F80U);
  set(call.layer.tokens, 0, 0);
  EXPECT_EQ(call.first(), 0x7FC0U) << "Inf · 0";
  set(call.layer.tokens, 0, -1);
  EXPECT_EQ(call.first(), 0xFF80U);
  call.layer.code(0, 0, 1, 15);
  EXPECT_EQ(call.first(), 0x7FC0U) << "-Inf + Inf";
  call.layer.scale_bits(0, 0x7FC0);
  EXPECT_EQ(call.first(), 0x7FC0U);
}

TEST(Int4Linear, ZeroWeights) {
  Call call(1, 1, 32, 1);
  for (int i = 0; i < 32; ++i) call.layer.code(0, 0, i, 8);
  call.layer.scale_bits(0, 0xBF80);
  set(call.shared, 0, -0.0);
  EXPECT_EQ(call.first(), 0x0000U) << "weights and shared are -0";
  set(call.layer.tokens, 0, INFINITY);
  EXPECT_EQ(call.first(), 0x7FC0U) << "0 · Inf";
}

TEST(Int4Linear, SmallestWeightTimesSmallestToken) {
  Call call(1, 1, 32, 1);
  call.layer.tokens = Tensor(Dtype::kF64, {1, 32});
  set_bits(call.layer.tokens, 0, 1);  // 2^-1074
  call.p = Tensor(Dtype::kF64, {1, 1});
  set(call.p, 0, 0x1p1023);
  call.layer.scale_bits(0, 1);  // 2^-133
  EXPECT_EQ(call.first(), encode(Dtype::kF64, std::ldexp(1.0, 1023 - 1074 - 133)));
}

TEST(Int4Linear, UnselectedExpertsAreNotRead) {
  Call call(2, 4, 64, 2, 2);
  for (const int e : {0, 3}) call.layer.poison_expert(e);
  for (int n = 0; n < 4; ++n) set(call.ids, n, n % 2 + 1);
  const Tensor y = call.run().value();
  for (int n = 0; n < 4; ++n) EXPECT_EQ(bits_at(y, n), encode(Dtype::kBF16, 128));
  set(call.ids, 0, 3);
  EXPECT_EQ(call.first(), 0x7FC0U);
}

TEST(Int4Linear, ScalePoliciesChangeNothing) {
  Call call(1, 1, 32, 1);
  const Tensor norm = call.run().value();
  for (const char* text : {"scale_nan=formula", "scale_nan=inf", "scale_zero=flush"}) {
    const Policy policy = parse_policy(text).value();
    for (const int scale : {0x0000, 0x00FF, 0x7F80, 0x7FC0}) {
      call.layer.scale_bits(0, static_cast<std::uint64_t>(scale));
      EXPECT_EQ(bytes_of(expert_linear(call.inputs(), policy).value()), bytes_of(call.run().value())) << text;
    }
  }
}

TEST(Int4Linear, StridedWeights) {
  const Layer layer = drawn_layer(WeightFormat::kInt4, 3, 2, 96, 5, 4);
  const Routes routes = drawn_routes(3, 1, 2, 4);
  const Tensor plain = rows_by_expert_linear(layer, routes);
  // The same words with the words of a row backwards and rows far apart.
  Tensor words(Dtype::kI32, {2, 5, 24});
  for (std::int64_t row = 0; row < 10; ++row) {
    for (std::int64_t w = 0; w < 12; ++w) {
      set_bits(words, row * 24 + 11 - w, bits_at(layer.packed_weights, row * 12 + w));
    }
  }
  const TensorView view = {Dtype::kI32, {2, 5, 12}, words.as<std::int32_t>().data() + 11, {120, 24, -1}};
  const TensorView ids = {Dtype::kI32, {3, 1}, routes.expert.data(), {}};
  Tensor p(Dtype::kF32, {3, 1});
  fill(p, 1);
  const Tensor shared(Dtype::kBF16, {3, 5});
  const auto strided =
      int4_expert_linear(layer.tokens.view(), view, layer.scales.view(), ids, p.view(), shared.view());
  EXPECT_EQ(bytes_of(strided.value()), bytes_of(plain));
}

TEST(Int4Linear, ExactValuesBehindIt) {
  Call call(1, 1, 32, 1);
  set(call.shared, 0, 3);
  const auto linear = ExactLinear::create(call.inputs(), {});
  ASSERT_TRUE(linear.ok());
  EXPECT_EQ(linear->token(0).output(0).round(Dtype::kF32), encode(Dtype::kF32, 35));
}

// INT-7: the VAL rules with the tensors of this format.
TEST(Int4Linear, Refusals) {
  const auto refusal = [](auto change) {
    Call call(2, 3, 64, 5);
    LinearInputs in = call.inputs();
    change(in);
    const auto result = validate_expert_linear(in);
    return result.ok() ? std::string("accepted") : result.error().message();
  };
  EXPECT_EQ(refusal([](LinearInputs&) {}), "accepted");
  EXPECT_EQ(refusal([](LinearInputs& in) {
              in.weights.packed_weights.shape = {3, 5, 2, 16};
            }),
            "packed_weights: value rank 4: VAL-1: the rank is 3");
  EXPECT_EQ(refusal([](LinearInputs& in) { in.weights.packed_weights.dtype = Dtype::kU8; }),
            "packed_weights: value U8: VAL-2: the dtype is one of I32");
  EXPECT_EQ(refusal([](LinearInputs& in) { in.weights.scales.dtype = Dtype::kF32; }),
            "scales: value F32: VAL-2: the dtype is one of BF16");
  EXPECT_EQ(refusal([](LinearInputs& in) {
              in.weights.packed_weights.shape = {3, 5, 16};
            }),
            "packed_weights: value [3,5,16]: VAL-4: the shape is [E,O,I/8] = [3,5,8]");
  EXPECT_EQ(refusal([](LinearInputs& in) {
              in.weights.scales.shape = {3, 5, 4};
            }),
            "scales: value [3,5,4]: VAL-4: the shape is [E,O,I/32] = [3,5,2]");
  EXPECT_EQ(refusal([](LinearInputs& in) { in.weights.scales.data = nullptr; }),
            "scales: value null: VAL-9: a data pointer is null only if the tensor has no elements");
  EXPECT_EQ(refusal([](LinearInputs& in) { in.weights.format = WeightFormat::kMxfp4; }),
            "packed_weights: value rank 3: VAL-1: the rank is 4");
}

}  // namespace
}  // namespace moe4::test
