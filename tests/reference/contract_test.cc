// What callers rely on beside the numbers: inputs, strides, threads, unselected experts.
#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/reference/problem.h"

namespace moe4::test {
namespace {

// A problem with every byte drawn, finite everywhere; large enough to run on several threads.
Problem drawn(const Sizes& sizes, const Dtypes& dtypes, std::uint64_t seed) {
  Problem problem(sizes, dtypes);
  std::uint64_t mixed = seed;
  const auto next = [&mixed] {
    mixed = mixed * 6364136223846793005ULL + 1442695040888963407ULL;
    return mixed >> 33;
  };
  for (auto& byte : problem.packed_weights.as<std::uint8_t>()) byte = static_cast<std::uint8_t>(next());
  for (auto& byte : problem.scale_bytes.as<std::uint8_t>())
    byte = static_cast<std::uint8_t>(110 + next() % 30);
  for (Tensor* tensor : {&problem.latent_tokens, &problem.mixture_weights, &problem.shared_output}) {
    for (std::int64_t i = 0; i < tensor->elements(); ++i) {
      set(*tensor, i,
          std::ldexp(static_cast<double>(next() % 255) - 127, static_cast<int>(next() % 12) - 14));
    }
  }
  for (std::int64_t i = 0; i < problem.selected_experts.elements(); ++i) {
    set(problem.selected_experts, i, static_cast<double>(next() % sizes.experts));
  }
  return problem;
}

std::vector<std::byte> bytes_of(const Tensor& tensor) {
  return {tensor.data(), tensor.data() + tensor.bytes()};
}

TEST(Contract, AnyNumberOfThreadsGivesTheSameBits) {
  const Problem problem = drawn({.tokens = 7, .experts = 5, .in = 96, .out = 150, .top_k = 3}, {}, 1);
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const Result<Tensor> one = problem.run();
  ASSERT_TRUE(one.ok());
  for (const int count : {2, 3, 8}) {
    omp_set_num_threads(count);
    const Result<Tensor> many = problem.run();
    ASSERT_TRUE(many.ok());
    EXPECT_EQ(bytes_of(*one), bytes_of(*many)) << count << " threads";
  }
  omp_set_num_threads(threads);
}

TEST(Contract, InputsAreNotWritten) {
  const Problem problem = drawn({.tokens = 3, .experts = 4, .in = 64, .out = 5, .top_k = 2}, {}, 2);
  const Problem copy = problem;
  ASSERT_TRUE(problem.run().ok());
  EXPECT_EQ(bytes_of(problem.latent_tokens), bytes_of(copy.latent_tokens));
  EXPECT_EQ(bytes_of(problem.packed_weights), bytes_of(copy.packed_weights));
  EXPECT_EQ(bytes_of(problem.scale_bytes), bytes_of(copy.scale_bytes));
  EXPECT_EQ(bytes_of(problem.selected_experts), bytes_of(copy.selected_experts));
  EXPECT_EQ(bytes_of(problem.mixture_weights), bytes_of(copy.mixture_weights));
  EXPECT_EQ(bytes_of(problem.shared_output), bytes_of(copy.shared_output));
}

TEST(Contract, OutputIsWrittenAndNothingAroundIt) {
  const Problem problem({.tokens = 3, .out = 5});
  std::vector<std::uint16_t> memory(17, 0xFFFF);
  ASSERT_FALSE(mxfp4_expert_linear(problem.inputs(), {Dtype::kBF16, {3, 5}, memory.data() + 1}).has_value());
  EXPECT_EQ(memory.front(), 0xFFFF);
  EXPECT_EQ(memory.back(), 0xFFFF);
  for (std::size_t i = 1; i < 16; ++i) EXPECT_EQ(memory[i], encode(Dtype::kBF16, 32.0)) << i;
}

// LIN-4: poison in every expert that no slot selects; and the same poison is seen as soon as one slot selects
// it.
TEST(Contract, UnselectedExpertsAreNotRead) {
  for (const Dtype id : {Dtype::kI32, Dtype::kI64}) {
    Problem problem({.tokens = 2, .experts = 4, .in = 64, .out = 2, .top_k = 2}, {.id = id});
    problem.ids({2, 1, 1, 1}).p({0.5, 2, 0.25, 4}).shared({1, 2, 2, 4});
    for (const int poisoned : {0, 3}) {
      for (int o = 0; o < 2; ++o) {
        for (int g = 0; g < 2; ++g) problem.scale(poisoned, o, g, 255);
        for (int j = 0; j < 32; ++j) problem.byte(poisoned, o, j, 0x7F);
      }
    }
    expect_outputs(problem, {161, 162, 274, 276}, "64·2.5 + 1, + 2; 64·4.25 + 2, + 4");
    problem.ids({2, 1, 1, 3});
    expect_outputs(problem, {161, 162, std::nan(""), std::nan("")}, "token 1 selects the poison");
  }
}

// The weights of unselected experts may not even be mapped.
TEST(Contract, UnselectedExpertsAreNotTouched) {
  Problem problem({.tokens = 1, .experts = 1, .in = 64, .out = 2, .top_k = 2});
  const GuardedBytes codes(64);
  const GuardedBytes scales(4);
  std::memset(codes.data(), 0x22, 64);
  std::memset(scales.data(), 127, 4);
  ExpertLinearInputs in = problem.inputs();
  in.packed_weights = {
      Dtype::kU8, {3, 2, 2, 16}, codes.data(), {}};  // experts 1 and 2 lie on the forbidden page
  in.scale_bytes = {Dtype::kU8, {3, 2, 2}, scales.data(), {}};
  Tensor output(Dtype::kBF16, {1, 2});
  ASSERT_FALSE(mxfp4_expert_linear(in, output.mutable_view()).has_value());
  EXPECT_EQ(bits_at(output, 0), encode(Dtype::kBF16, 128.0));
  EXPECT_EQ(bits_at(output, 1), encode(Dtype::kBF16, 128.0));
}

// A copy of tensor with its axes stored in reverse order, every one backwards, with `gap` elements between:
// as strided as a view can be.
struct Scattered {
  std::vector<std::byte> memory;
  TensorView view;

  explicit Scattered(const Tensor& tensor, std::int64_t gap = 3) {
    view.dtype = tensor.dtype();
    view.shape = tensor.shape();
    std::int64_t stride = gap;
    std::int64_t lowest = 0;
    for (const std::int64_t dim : view.shape) {
      view.strides.push_back(-stride);
      lowest += stride * (dim - 1);
      stride *= dim;
    }
    const auto size = static_cast<std::int64_t>(size_of(view.dtype));
    memory.assign(static_cast<std::size_t>((lowest + 1) * size), std::byte{0xFF});
    view.data = memory.data() + lowest * size;
    for (std::int64_t index = 0; index < tensor.elements(); ++index) {
      std::int64_t rest = index;
      std::int64_t offset = lowest;
      for (std::size_t axis = view.shape.size(); axis-- > 0;) {
        offset += rest % view.shape[axis] * view.strides[axis];
        rest /= view.shape[axis];
      }
      std::memcpy(memory.data() + offset * size, tensor.data() + index * size,
                  static_cast<std::size_t>(size));
    }
  }
};

TEST(Contract, StridedInputsGiveTheSameBits) {
  const Dtype floats[4] = {Dtype::kBF16, Dtype::kF16, Dtype::kF32, Dtype::kF64};
  for (int draw = 0; draw < 8; ++draw) {
    const Dtypes dtypes = {floats[draw % 4], floats[(draw + 1) % 4], floats[(draw + 2) % 4],
                           draw % 2 == 0 ? Dtype::kI32 : Dtype::kI64};
    const Problem problem = drawn({.tokens = 3, .experts = 4, .in = 64, .out = 5, .top_k = 2}, dtypes,
                                  10 + static_cast<unsigned>(draw));
    const Scattered x(problem.latent_tokens);
    const Scattered w(problem.packed_weights);
    const Scattered scales(problem.scale_bytes, 1);
    const Scattered ids(problem.selected_experts, 2);
    const Scattered p(problem.mixture_weights);
    const Scattered s(problem.shared_output);
    const Result<Tensor> contiguous = problem.run();
    const Result<Tensor> strided = mxfp4_expert_linear(x.view, w.view, scales.view, ids.view, p.view, s.view);
    ASSERT_TRUE(contiguous.ok() && strided.ok());
    EXPECT_EQ(bytes_of(*contiguous), bytes_of(*strided));
  }
}

// Stride 0: one row for all tokens, one expert's weights for all experts.
TEST(Contract, BroadcastInputs) {
  Problem one({.tokens = 1, .experts = 1, .in = 32, .out = 3});
  one.x(0, 5, 3.0).scale(0, 1, 0, 128).shared({1, 2, 3});
  ExpertLinearInputs in = one.inputs();
  const std::vector<std::int32_t> ids = {4, 0, 2};
  in.latent_tokens = {Dtype::kBF16, {3, 32}, one.latent_tokens.data(), {0, 1}};
  in.packed_weights = {Dtype::kU8, {5, 3, 1, 16}, one.packed_weights.data(), {0, 16, 16, 1}};
  in.scale_bytes = {Dtype::kU8, {5, 3, 1}, one.scale_bytes.data(), {0, 1, 1}};
  in.selected_experts = {Dtype::kI32, {3, 1}, ids.data(), {}};
  in.mixture_weights = {Dtype::kF32, {3, 1}, one.mixture_weights.data(), {0, 0}};
  in.shared_output = {Dtype::kBF16, {3, 3}, one.shared_output.data(), {0, 1}};
  Tensor output(Dtype::kBF16, {3, 3});
  ASSERT_FALSE(mxfp4_expert_linear(in, output.mutable_view()).has_value());
  for (int t = 0; t < 3; ++t) {
    EXPECT_EQ(bits_at(output, 3 * t + 0), encode(Dtype::kBF16, 35.0));
    EXPECT_EQ(bits_at(output, 3 * t + 1), encode(Dtype::kBF16, 70.0));
    EXPECT_EQ(bits_at(output, 3 * t + 2), encode(Dtype::kBF16, 37.0));
  }
}

// Rows depend on nothing but themselves: the same bits alone, in a batch, and in another order.
TEST(Contract, TokensAreIndependent) {
  const Sizes sizes = {.tokens = 5, .experts = 4, .in = 64, .out = 3, .top_k = 2};
  const Problem batch = drawn(sizes, {}, 77);
  const Result<Tensor> all = batch.run();
  ASSERT_TRUE(all.ok());
  for (std::int64_t t = 0; t < 5; ++t) {
    ExpertLinearInputs in = batch.inputs();
    const auto row = [t](TensorView view) {
      view.data = static_cast<const std::byte*>(view.data) +
                  static_cast<std::size_t>(t * view.shape[1]) * size_of(view.dtype);
      view.shape[0] = 1;
      return view;
    };
    in.latent_tokens = row(in.latent_tokens);
    in.selected_experts = row(in.selected_experts);
    in.mixture_weights = row(in.mixture_weights);
    in.shared_output = row(in.shared_output);
    Tensor alone(Dtype::kBF16, {1, 3});
    ASSERT_FALSE(mxfp4_expert_linear(in, alone.mutable_view()).has_value());
    for (int o = 0; o < 3; ++o) EXPECT_EQ(bits_at(alone, o), bits_at(*all, 3 * t + o));
  }
}

}  // namespace
}  // namespace moe4::test
