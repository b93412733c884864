// op=combine (RTE-13 to RTE-15).
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "reference/linear/combine.h"
#include "tests/reference/problem.h"

namespace moe4::test {
namespace {

const double kNan = std::nan("");
const double kInf = INFINITY;

// Rows [T·K,1], weights F32, shared BF16, set in row order.
struct Call {
  Call(std::int64_t tokens, std::int64_t top_k, std::vector<double> row_values, std::vector<double> weights,
       std::vector<double> shared_values)
      : rows(Dtype::kBF16, {tokens * top_k, 1}),
        p(Dtype::kF32, {tokens, top_k}),
        shared(Dtype::kBF16, {tokens, 1}) {
    for (std::size_t n = 0; n < row_values.size(); ++n)
      set(rows, static_cast<std::int64_t>(n), row_values[n]);
    for (std::size_t n = 0; n < weights.size(); ++n) set(p, static_cast<std::int64_t>(n), weights[n]);
    for (std::size_t n = 0; n < shared_values.size(); ++n) {
      set(shared, static_cast<std::int64_t>(n), shared_values[n]);
    }
  }
  Call& with_ids(std::vector<std::int64_t> values) {
    ids.emplace(Dtype::kI64, p.shape());
    for (std::size_t n = 0; n < values.size(); ++n) ids->as<std::int64_t>()[n] = values[n];
    return *this;
  }
  CombineInputs inputs() const {
    CombineInputs in{rows.view(), p.view(), std::nullopt, shared.view()};
    if (ids) in.selected_experts = ids->view();
    return in;
  }
  void expect(std::vector<double> values, Dtype dtype = Dtype::kBF16) const {
    const auto y = combine(inputs(), dtype, policy);
    ASSERT_TRUE(y.ok()) << y.error().message();
    EXPECT_EQ(y->dtype(), dtype);
    for (std::size_t n = 0; n < values.size(); ++n) {
      EXPECT_EQ(bits_at(*y, static_cast<std::int64_t>(n)), encode(dtype, values[n])) << n;
    }
  }

  Tensor rows;
  Tensor p;
  Tensor shared;
  std::optional<Tensor> ids;
  Policy policy;
};

TEST(Combine, RowsOfATokenLieTogether) {
  Call(2, 3, {1, 2, 4, 8, 16, 32}, {1, 10, 100, 1, 0.5, 0.25}, {1000, 5}).expect({1424, 29});
}

TEST(Combine, OneRoundingToTheChosenDtype) {
  Call call(1, 2, {1.0078125, 256}, {0.00390625, 1}, {1});
  for (const Dtype dtype : {Dtype::kF32, Dtype::kF64}) call.expect({257.003936767578125}, dtype);
  call.expect({258});  // just above the tie at 257 [256: the small term lost before]
  set_bits(call.p, 0, 0x477FF000);
  call.expect({kInf}, Dtype::kF16);
}

TEST(Combine, WeightsKeepTheirPrecision) {
  // 0.137 in F32 for both rows: [0x3E96 with weights, products and sums in BF16]
  Call call(1, 2, {1, 1}, {0, 0}, {0});
  set_bits(call.rows, 0, 0x3F80);
  set_bits(call.rows, 1, 0x3F93);
  for (int n = 0; n < 2; ++n) set_bits(call.p, n, 0x3E0C49BA);
  EXPECT_EQ(bits_at(combine(call.inputs(), Dtype::kBF16).value(), 0), 0x3E97U);
}

TEST(Combine, AbsentSlots) {
  Call call(2, 2, {kNan, 3, kNan, kNan}, {kNan, 2, kInf, kNan}, {1, -0.0});
  call.with_ids({-1, 7, -1, -1});
  call.expect({7, -0.0});
  call.policy.ids = Ids::kAbsent;
  call.expect({7, -0.0});
  call.with_ids({0, 7, -1, -1}).expect({kNan, -0.0});
}

TEST(Combine, ZeroSums) {
  Call(1, 1, {-0.0}, {1}, {-0.0}).expect({0.0});
  Call(1, 2, {1, -1}, {1, 1}, {-0.0}).expect({0.0});
  Call(1, 0, {}, {}, {-0.0}).expect({-0.0});
  Call(1, 0, {}, {}, {3}).expect({3});
}

TEST(Combine, ZeroWeights) {
  Call call(1, 2, {kInf, 2}, {0, 1}, {1});
  call.expect({kNan});
  call.policy.skip_zero_p = SkipZeroP::kYes;
  call.expect({3});
}

TEST(Combine, ExtendedReals) {
  Call(1, 1, {kInf}, {-1}, {1}).expect({-kInf});
  Call(1, 2, {kInf, -kInf}, {1, 1}, {1}).expect({kNan});
  Call(1, 1, {1}, {1}, {kInf}).expect({kInf});
  Call(1, 1, {0}, {kInf}, {1}).expect({kNan});
}

TEST(Combine, RowsOfAbsentSlotsAreNotTouched) {
  Call call(1, 2, {3, 0}, {2, 5}, {1});
  const GuardedBytes memory(2);
  std::memcpy(memory.data(), call.rows.data(), 2);
  call.with_ids({4, -1});
  CombineInputs in = call.inputs();
  in.rows.data = memory.data();
  EXPECT_EQ(bits_at(combine(in, Dtype::kBF16).value(), 0), encode(Dtype::kBF16, 7));
}

TEST(Combine, EmptyShapes) {
  EXPECT_EQ(combine(Call(0, 2, {}, {}, {}).inputs(), Dtype::kF16)->shape(), (Shape{0, 1}));
}

TEST(Combine, Refusals) {
  const auto refusal = [](auto change, Dtype dtype = Dtype::kBF16) {
    Call call(2, 2, {1, 1, 1, 1}, {1, 1, 1, 1}, {0, 0});
    call.with_ids({0, -1, 5, 1});
    CombineInputs in = call.inputs();
    change(call, in);
    const auto y = combine(in, dtype);
    return y.ok() ? std::string("accepted") : y.error().message();
  };
  using In = CombineInputs;
  EXPECT_EQ(refusal([](Call&, In&) {}), "accepted");
  EXPECT_EQ(refusal([](Call& c, In&) { c.ids->as<std::int64_t>()[2] = -2; }),
            "selected_experts: value token 1, slot 0, id -2: RTE-15: every id is -1 or more");
  EXPECT_EQ(refusal([](Call&, In& in) {
              in.rows.shape = {3, 1};
            }),
            "rows: value [3,1]: VAL-4: the shape is [T*K,O] = [4,1]");
  EXPECT_EQ(refusal([](Call&, In& in) { in.rows.dtype = Dtype::kF16; }),
            "rows: value F16: VAL-2: the dtype is one of BF16");
  EXPECT_EQ(refusal([](Call&, In& in) {
              in.selected_experts->shape = {1, 4};
            }),
            "selected_experts: value [1,4]: VAL-4: the shape is [T,K] = [2,2]");
  EXPECT_EQ(refusal([](Call&, In&) {}, Dtype::kI32),
            "output: value I32: VAL-5: the output has a float dtype");
  EXPECT_EQ(refusal([](Call&, In& in) { in.shared_output.data = nullptr; }),
            "shared_output: value null: VAL-9: a data pointer is null only if the tensor has no elements");
}

}  // namespace
}  // namespace moe4::test
