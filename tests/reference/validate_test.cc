// VAL-1 … VAL-9: each refusal with its message, in the order of the page, and nothing written.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/reference/problem.h"

namespace moe4::test {
namespace {

constexpr std::int64_t kHuge = std::int64_t{1} << 62;

// T=2, E=3, I=64, O=5, K=2; views that a test bends before it calls.
struct Call {
  Problem problem{{.tokens = 2, .experts = 3, .in = 64, .out = 5, .top_k = 2}};
  Tensor memory{Dtype::kBF16, {2, 5}};
  ExpertLinearInputs in = problem.inputs();
  MutableTensorView out = memory.mutable_view();

  // The refusal of the function, after a check that nothing was written.
  std::string refusal() {
    std::memset(memory.data(), 0xA5, memory.bytes());
    const Status error = mxfp4_expert_linear(in, out, problem.policy);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(memory.data());
    EXPECT_TRUE(!error ||
                std::all_of(bytes, bytes + memory.bytes(), [](std::uint8_t b) { return b == 0xA5; }));
    return error ? error->message() : "accepted";
  }

  // The refusal of both forms, which must agree; for what concerns inputs only.
  std::string refusal_of_inputs() {
    const Result<ExpertLinearDims> dims = validate_mxfp4_expert_linear(in, problem.policy);
    const std::string text = refusal();
    EXPECT_EQ(dims.ok() ? "accepted" : dims.error().message(), text);
    return text;
  }
};

TEST(Validate, AcceptsAndReturnsTheDims) {
  Call call;
  EXPECT_EQ(call.refusal_of_inputs(), "accepted");
  const Result<ExpertLinearDims> dims = validate_mxfp4_expert_linear(call.in);
  ASSERT_TRUE(dims.ok());
  EXPECT_EQ(dims->tokens, 2);
  EXPECT_EQ(dims->experts, 3);
  EXPECT_EQ(dims->in, 64);
  EXPECT_EQ(dims->groups, 2);
  EXPECT_EQ(dims->out, 5);
  EXPECT_EQ(dims->top_k, 2);
}

TensorView& field_of(ExpertLinearInputs& in, int index) {
  TensorView* const fields[6] = {&in.latent_tokens,    &in.packed_weights,  &in.scale_bytes,
                                 &in.selected_experts, &in.mixture_weights, &in.shared_output};
  return *fields[index];
}

constexpr const char* kNames[6] = {"latent_tokens",    "packed_weights",  "scale_bytes",
                                   "selected_experts", "mixture_weights", "shared_output"};

TEST(Validate, Rank) {
  const int ranks[6] = {2, 4, 3, 2, 2, 2};
  for (int index = 0; index < 6; ++index) {
    for (const int change : {-1, 1}) {
      Call call;
      Shape& shape = field_of(call.in, index).shape;
      shape.resize(shape.size() + change, 1);
      EXPECT_EQ(call.refusal_of_inputs(), std::string(kNames[index]) + ": value rank " +
                                              std::to_string(ranks[index] + change) +
                                              ": VAL-1: the rank is " + std::to_string(ranks[index]));
    }
  }
}

TEST(Validate, Dtype) {
  const std::vector<Dtype> all = {Dtype::kU8,  Dtype::kI32, Dtype::kI64, Dtype::kBF16,
                                  Dtype::kF16, Dtype::kF32, Dtype::kF64};
  const std::string floats = "BF16, F16, F32, F64";
  const std::string allowed[6] = {floats, "U8", "U8", "I32, I64", floats, floats};
  int refused = 0;
  for (int index = 0; index < 6; ++index) {
    for (const Dtype dtype : all) {
      const std::string name(name_of(dtype));
      if (allowed[index].find(name) != std::string::npos) continue;
      Call call;
      field_of(call.in, index).dtype = dtype;
      EXPECT_EQ(call.refusal_of_inputs(), std::string(kNames[index]) + ": value " + name +
                                              ": VAL-2: the dtype is one of " + allowed[index]);
      ++refused;
    }
  }
  EXPECT_EQ(refused, 3 * 3 + 2 * 6 + 5);
}

TEST(Validate, Width) {
  for (const std::int64_t in : {0, 1, 16, 31, 33, 48, 63, 65, -32}) {
    Call call;
    call.in.latent_tokens.shape[1] = in;
    EXPECT_EQ(call.refusal_of_inputs(), "latent_tokens: value I = " + std::to_string(in) +
                                            ": VAL-3: I is at least 32 and a multiple of 32");
  }
}

TEST(Validate, Shapes) {
  const auto refusal = [](int index, Shape shape) {
    Call call;
    field_of(call.in, index).shape = std::move(shape);
    return call.refusal_of_inputs();
  };
  const std::string four = ": VAL-4: the shape is ";
  EXPECT_EQ(refusal(1, {3, 5, 1, 16}),
            "packed_weights: value [3,5,1,16]" + four + "[E,O,I/32,16] = [3,5,2,16]");
  EXPECT_EQ(refusal(1, {3, 5, 2, 32}),
            "packed_weights: value [3,5,2,32]" + four + "[E,O,I/32,16] = [3,5,2,16]");
  EXPECT_EQ(refusal(2, {2, 5, 2}), "scale_bytes: value [2,5,2]" + four + "[E,O,I/32] = [3,5,2]");
  EXPECT_EQ(refusal(2, {3, 4, 2}), "scale_bytes: value [3,4,2]" + four + "[E,O,I/32] = [3,5,2]");
  EXPECT_EQ(refusal(2, {3, 5, 3}), "scale_bytes: value [3,5,3]" + four + "[E,O,I/32] = [3,5,2]");
  EXPECT_EQ(refusal(3, {1, 2}), "selected_experts: value [1,2]" + four + "[T,K] = [2,2]");
  EXPECT_EQ(refusal(4, {2, 3}), "mixture_weights: value [2,3]" + four + "[T,K] = [2,2]");
  EXPECT_EQ(refusal(4, {1, 2}), "mixture_weights: value [1,2]" + four + "[T,K] = [2,2]");
  EXPECT_EQ(refusal(5, {2, 4}), "shared_output: value [2,4]" + four + "[T,O] = [2,5]");
  EXPECT_EQ(refusal(5, {5, 2}), "shared_output: value [5,2]" + four + "[T,O] = [2,5]");
  for (const Shape& shape : {Shape{2, 4}, Shape{1, 5}, Shape{10}, Shape{2, 5, 1}}) {
    Call call;
    call.out.shape = shape;
    EXPECT_EQ(call.refusal(), "output: value " + to_string(shape) + four + "[T,O] = [2,5]");
  }
}

TEST(Validate, OutputDtype) {
  Call call;
  call.out.dtype = Dtype::kF16;
  EXPECT_EQ(call.refusal(), "output: value F16: VAL-5: the output has the dtype of latent_tokens, BF16");
}

TEST(Validate, NegativeAndHugeDimensions) {
  Call call;
  call.in.latent_tokens.shape[0] = call.in.selected_experts.shape[0] = call.in.mixture_weights.shape[0] =
      call.in.shared_output.shape[0] = call.out.shape[0] = -2;
  EXPECT_EQ(
      call.refusal(),
      "latent_tokens: value [-2,64]: VAL-6: no dimension is negative and there are at most 2^62 elements");
  Call huge;
  huge.in.packed_weights.shape[0] = huge.in.scale_bytes.shape[0] = kHuge;
  EXPECT_EQ(huge.refusal_of_inputs(),
            "packed_weights: value [4611686018427387904,5,2,16]: VAL-6: no dimension is "
            "negative and there are at most 2^62 elements");
}

TEST(Validate, NoElementsWhateverTheOtherDimensions) {
  EXPECT_EQ(element_count(Shape{kHuge, 0, 2, 16}), 0);
  EXPECT_EQ(element_count(Shape{0, kHuge, 2, 16}), 0);
  EXPECT_EQ(element_count(Shape{kHuge}), kHuge);
  EXPECT_EQ(element_count(Shape{kHuge, 2}), std::nullopt);
  EXPECT_EQ(element_count(Shape{0, -1}), std::nullopt);
  Call no_outputs;
  no_outputs.in.packed_weights.shape = {kHuge, 0, 2, 16};
  no_outputs.in.scale_bytes.shape = {kHuge, 0, 2};
  no_outputs.in.shared_output.shape[1] = no_outputs.out.shape[1] = 0;
  EXPECT_EQ(no_outputs.refusal(), "accepted");
}

TEST(Validate, Strides) {
  Call call;
  call.in.shared_output.strides = {5};
  EXPECT_EQ(call.refusal_of_inputs(),
            "shared_output: value 1 strides: VAL-6: strides have one entry an axis");
  for (const Shape& strides :
       {Shape{1, kHuge}, Shape{-kHuge, 1}, Shape{std::numeric_limits<std::int64_t>::min(), 1},
        Shape{kHuge / 2, -kHuge / 2}}) {
    Call far;
    far.in.latent_tokens.strides = strides;
    EXPECT_EQ(far.refusal_of_inputs(), "latent_tokens: value [2,64] strides " + to_string(strides) +
                                           ": VAL-6: the extent in bytes fits the address space");
  }
  Call below_zero;
  below_zero.in.scale_bytes.data = reinterpret_cast<const void*>(8);
  below_zero.in.scale_bytes.strides = {0, 0, -9};
  EXPECT_EQ(below_zero.refusal_of_inputs(),
            "scale_bytes: value [3,5,2] strides [0,0,-9]: VAL-6: the extent in bytes fits the address space");
}

TEST(Validate, NumberOfProducts) {
  // K = 2^57 slots of one element that all lie at one address; I = 64.
  Call call;
  call.in.latent_tokens.shape = {1, 64};
  for (TensorView* view : {&call.in.selected_experts, &call.in.mixture_weights}) {
    view->shape = {1, kHuge / 32};
    view->strides = {0, 0};
  }
  call.in.shared_output.shape = call.out.shape = {1, 5};
  EXPECT_EQ(call.refusal_of_inputs(),
            "selected_experts: value I = 64, K = 144115188075855872: VAL-6: I * K is at most 2^62");
}

TEST(Validate, Aliasing) {
  for (int index = 0; index < 6; ++index) {
    Call call;
    TensorView& view = field_of(call.in, index);
    call.out.data = const_cast<void*>(view.data);
    const std::vector<std::uint8_t> before(static_cast<const std::uint8_t*>(view.data),
                                           static_cast<const std::uint8_t*>(view.data) + 8);
    EXPECT_EQ(call.refusal(), std::string("output: value shares memory with ") + kNames[index] +
                                  ": VAL-7: the bytes of the output overlap those of no input");
    EXPECT_EQ(std::memcmp(view.data, before.data(), 8), 0);
  }
}

TEST(Validate, AliasingToTheByte) {
  // 20 bytes of output directly before, and directly after, the 20 bytes of shared_output; then one byte
  // nearer.
  std::vector<std::uint8_t> buffer(80, 0);
  const auto call_at = [&](std::ptrdiff_t offset, Shape strides, std::ptrdiff_t first) {
    Call call;
    call.in.shared_output.data = buffer.data() + 30 + first;
    call.in.shared_output.strides = std::move(strides);
    call.out.data = buffer.data() + offset;
    return call.refusal().find("VAL-7") != std::string::npos;
  };
  EXPECT_FALSE(call_at(10, {5, 1}, 0));
  EXPECT_TRUE(call_at(11, {5, 1}, 0));
  EXPECT_TRUE(call_at(49, {5, 1}, 0));
  EXPECT_FALSE(call_at(50, {5, 1}, 0));
  // The same bytes read backwards: data points at the last element.
  EXPECT_FALSE(call_at(10, {-5, -1}, 18));
  EXPECT_TRUE(call_at(11, {-5, -1}, 18));
  EXPECT_TRUE(call_at(49, {-5, -1}, 18));
  EXPECT_FALSE(call_at(50, {-5, -1}, 18));
}

TEST(Validate, Ids) {
  const std::string rule = ": VAL-8: every id is in 0..2";
  for (const std::int64_t id : {std::int64_t{3}, std::int64_t{-1}, std::int64_t{-2}, std::int64_t{1} << 31,
                                std::int64_t{1} << 32, std::int64_t{-1} << 32}) {
    Call call;
    call.problem.selected_experts = Tensor(Dtype::kI64, {2, 2});
    call.problem.ids({0, 2, 1, id});
    call.in = call.problem.inputs();
    const std::string where = "selected_experts: value token 1, slot 1, id " + std::to_string(id) + rule;
    EXPECT_EQ(call.refusal_of_inputs(), where);
    call.problem.policy.ids = Ids::kAbsent;
    EXPECT_EQ(call.refusal_of_inputs(), id == -1 ? "accepted" : where + " or is -1");
  }
  Call call;
  call.problem.ids({0, -7, 9, 1});
  EXPECT_EQ(call.refusal_of_inputs(), "selected_experts: value token 0, slot 1, id -7" + rule);
}

TEST(Validate, NullPointers) {
  for (int index = 0; index < 6; ++index) {
    Call call;
    field_of(call.in, index).data = nullptr;
    EXPECT_EQ(call.refusal_of_inputs(),
              std::string(kNames[index]) +
                  ": value null: VAL-9: a data pointer is null only if the tensor has no "
                  "elements");
  }
  Call call;
  call.out.data = nullptr;
  EXPECT_EQ(call.refusal(),
            "output: value null: VAL-9: a data pointer is null only if the tensor has no elements");
}

TEST(Validate, NullIsFineWithoutElements) {
  const Problem empty({.tokens = 0, .experts = 2, .out = 3, .top_k = 2});
  ExpertLinearInputs in = empty.inputs();
  in.latent_tokens.data = in.selected_experts.data = in.mixture_weights.data = in.shared_output.data =
      nullptr;
  EXPECT_FALSE(mxfp4_expert_linear(in, MutableTensorView{Dtype::kBF16, {0, 3}, nullptr}).has_value());
}

// Inputs that break every rule at once: mending the first one reported brings the next.
TEST(Validate, OrderOfTheRules) {
  Call call;
  call.in.packed_weights.shape = {3, 5, 2};
  call.in.scale_bytes.dtype = Dtype::kF32;
  call.in.latent_tokens.shape[1] = 65;
  call.in.mixture_weights.shape = {2, 7};
  call.out.dtype = Dtype::kF64;
  call.in.shared_output.strides = {1, 2, 3};
  call.problem.ids({0, 1, 2, 3});
  call.out.data = const_cast<void*>(call.in.packed_weights.data);
  call.in.latent_tokens.data = nullptr;

  const auto next_rule = [&call] { return call.refusal().substr(call.refusal().find("VAL-"), 5); };
  EXPECT_EQ(next_rule(), "VAL-1");
  call.in.packed_weights.shape = {3, 5, 2, 16};
  EXPECT_EQ(next_rule(), "VAL-2");
  call.in.scale_bytes.dtype = Dtype::kU8;
  EXPECT_EQ(next_rule(), "VAL-3");
  call.in.latent_tokens.shape[1] = 64;
  EXPECT_EQ(next_rule(), "VAL-4");
  call.in.mixture_weights.shape = {2, 2};
  EXPECT_EQ(next_rule(), "VAL-5");
  call.out.dtype = Dtype::kBF16;
  EXPECT_EQ(next_rule(), "VAL-6");
  call.in.shared_output.strides = {};
  EXPECT_EQ(next_rule(), "VAL-7");
  call.out.data = call.memory.data();
  EXPECT_EQ(next_rule(), "VAL-8");
  call.problem.ids({0, 1, 2, 2});
  EXPECT_EQ(next_rule(), "VAL-9");
  call.in.latent_tokens.data = call.problem.latent_tokens.data();
  EXPECT_EQ(call.refusal(), "accepted");
}

}  // namespace
}  // namespace moe4::test
