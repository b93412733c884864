// op=grouped_contiguous and op=grouped_masked (RTE-8 to RTE-12).
#include <gtest/gtest.h>

#include <cstring>

#include "reference/linear/grouped_contiguous.h"
#include "reference/linear/grouped_masked.h"
#include "tests/reference/problem.h"
#include "tests/reference/routing_problem.h"

namespace moe4::test {
namespace {

// Weights 2^e, rows r filled with r + 1; the row of expert e is 32·(r+1)·2^e.
Layer powers(WeightFormat format, std::int64_t rows, std::int64_t experts) {
  Layer layer(format, rows, experts, 32, 2);
  for (std::int64_t e = 0; e < experts; ++e) {
    layer.scale_bits(e, format == WeightFormat::kMxfp4 ? 127 + e : 0x3F80 + 0x80 * e);
  }
  for (std::int64_t n = 0; n < rows * 32; ++n) set(layer.tokens, n, static_cast<double>(n / 32 + 1));
  return layer;
}

TensorView view_of(const std::vector<std::int32_t>& values) {
  return {Dtype::kI32, {static_cast<std::int64_t>(values.size())}, values.data(), {}};
}

// Row by row: 0 is a row that is not written.
void expect_rows(const RowsResult& result, const std::vector<double>& rows) {
  ASSERT_EQ(result.written.size(), rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    EXPECT_EQ(result.written[row], rows[row] != 0 ? 1 : 0) << row;
    EXPECT_EQ(bits_at(result.output, static_cast<std::int64_t>(2 * row + 1)), encode(Dtype::kBF16, rows[row]))
        << row;
  }
}

TEST(GroupedContiguous, EachRowHasItsExpert) {
  for (const WeightFormat format : kBothFormats) {
    const Layer layer = powers(format, 6, 3);
    const std::vector<std::int32_t> m_indices = {2, -1, 0, 0, 1, 2};
    const auto result = grouped_contiguous({layer.tokens.view(), layer.weights(), view_of(m_indices)});
    ASSERT_TRUE(result.ok()) << result.error().message();
    EXPECT_EQ(result->output.shape(), (Shape{6, 2}));
    expect_rows(*result, {128, 0, 96, 128, 320, 768});
  }
}

TEST(GroupedContiguous, PaddingIsNeitherReadNorWritten) {
  for (const WeightFormat format : kBothFormats) {
    Layer layer = powers(format, 4, 3);
    for (int i = 0; i < 32; ++i) set_bits(layer.tokens, 2 * 32 + i, 0x7FC0);
    layer.poison_expert(1);
    const std::vector<std::int32_t> m_indices = {0, 0, -1, 2};
    std::vector<std::uint16_t> memory(8, 0xABCD);
    const auto written = grouped_contiguous({layer.tokens.view(), layer.weights(), view_of(m_indices)},
                                            {Dtype::kBF16, {4, 2}, memory.data()});
    ASSERT_TRUE(written.ok());
    EXPECT_EQ(*written, (std::vector<std::uint8_t>{1, 1, 0, 1}));
    EXPECT_EQ(memory[4], 0xABCD);
    EXPECT_EQ(memory[5], 0xABCD);
    EXPECT_EQ(memory[6], encode(Dtype::kBF16, 512));
  }
}

TEST(GroupedContiguous, OnlyPaddingAndNoRows) {
  const Layer layer = powers(WeightFormat::kInt4, 3, 0);  // no expert at all
  const std::vector<std::int32_t> padding = {-1, -1, -1};
  expect_rows(grouped_contiguous({layer.tokens.view(), layer.weights(), view_of(padding)}).value(),
              {0, 0, 0});
  const Layer none = powers(WeightFormat::kMxfp4, 0, 2);
  EXPECT_EQ(grouped_contiguous({none.tokens.view(), none.weights(), view_of({})})->output.shape(),
            (Shape{0, 2}));
}

TEST(GroupedContiguous, Refusals) {
  const Layer layer = powers(WeightFormat::kInt4, 3, 2);
  const auto refusal = [&layer](const std::vector<std::int32_t>& m_indices) {
    const auto dims = validate_grouped_contiguous({layer.tokens.view(), layer.weights(), view_of(m_indices)});
    return dims.ok() ? std::string("accepted") : dims.error().message();
  };
  EXPECT_EQ(refusal({1, -1, 0}), "accepted");
  EXPECT_EQ(refusal({1, -1, 2}), "m_indices: value row 2, expert 2: RTE-9: every index is in -1..1");
  EXPECT_EQ(refusal({1, -2, 5}), "m_indices: value row 1, expert -2: RTE-9: every index is in -1..1");
  EXPECT_EQ(refusal({1, 0}), "m_indices: value [2]: VAL-4: the shape is [m] = [3]");
}

struct Masked {
  explicit Masked(WeightFormat format) : layer(powers(format, 6, 3)) {}  // max_m = 2

  GroupedMaskedInputs flat() const { return {layer.tokens.view(), layer.weights(), view_of(masked_m)}; }
  GroupedMaskedInputs blocks() const {
    GroupedMaskedInputs in = flat();
    in.latent_tokens.shape = {3, 2, 32};
    return in;
  }

  Layer layer;
  std::vector<std::int32_t> masked_m = {1, 0, 2};
};

TEST(GroupedMasked, FirstRowsOfEachExpert) {
  for (const WeightFormat format : kBothFormats) {
    const Masked call(format);
    for (const GroupedMaskedInputs& in : {call.flat(), call.blocks()}) {
      const auto result = grouped_masked(in);
      ASSERT_TRUE(result.ok()) << result.error().message();
      EXPECT_EQ(result->output.shape(), (Shape{3, 2, 2}));
      expect_rows(*result, {32, 0, 0, 0, 5 * 128, 6 * 128});
    }
  }
}

TEST(GroupedMasked, EitherShapeOfTheOutput) {
  const Masked call(WeightFormat::kMxfp4);
  const auto bytes = bytes_of(grouped_masked(call.flat())->output);
  for (const Shape& shape : {Shape{3, 2, 2}, Shape{6, 2}}) {
    Tensor output(Dtype::kBF16, shape);
    ASSERT_TRUE(grouped_masked(call.blocks(), output.mutable_view()).ok());
    EXPECT_EQ(bytes_of(output), bytes);
  }
  const auto refusal = [&call](const Shape& shape) {
    Tensor output(Dtype::kBF16, shape);
    return grouped_masked(call.flat(), output.mutable_view()).error().message();
  };
  EXPECT_EQ(refusal({2, 3, 2}), "output: value [2,3,2]: VAL-4: the shape is [E,max_m,O] = [3,2,2]");
  EXPECT_EQ(refusal({5, 2}), "output: value [5,2]: VAL-4: the shape is [E*max_m,O] = [6,2]");
}

TEST(GroupedMasked, BlocksFarApart) {
  const Masked call(WeightFormat::kInt4);
  Tensor wide(Dtype::kBF16, {3, 5, 40});
  for (std::int64_t n = 0; n < wide.elements(); ++n) set_bits(wide, n, 0x7FC0);
  for (std::int64_t row = 0; row < 6; ++row) {
    for (std::int64_t i = 0; i < 32; ++i) {
      set_bits(wide, (row / 2 * 5 + row % 2) * 40 + i, bits_at(call.layer.tokens, row * 32 + i));
    }
  }
  GroupedMaskedInputs in = call.blocks();
  in.latent_tokens.data = wide.data();
  in.latent_tokens.strides = {200, 40, 1};
  EXPECT_EQ(bytes_of(grouped_masked(in)->output), bytes_of(grouped_masked(call.flat())->output));
}

TEST(GroupedMasked, RowsBeyondTheCountAreNeitherReadNorWritten) {
  for (const WeightFormat format : kBothFormats) {
    Masked call(format);
    for (const int row : {1, 2, 3}) {
      for (int i = 0; i < 32; ++i) set_bits(call.layer.tokens, row * 32 + i, 0xFFFF);
    }
    call.layer.poison_expert(1);
    std::vector<std::uint16_t> memory(12, 0xABCD);
    const auto written = grouped_masked(call.flat(), {Dtype::kBF16, {6, 2}, memory.data()});
    ASSERT_TRUE(written.ok());
    EXPECT_EQ(*written, (std::vector<std::uint8_t>{1, 0, 0, 0, 1, 1}));
    for (std::size_t n = 0; n < 12; ++n) EXPECT_EQ(memory[n] == 0xABCD, (*written)[n / 2] == 0) << n;
    EXPECT_EQ(memory[11], encode(Dtype::kBF16, 768));
  }
}

TEST(GroupedMasked, NothingToDo) {
  Masked call(WeightFormat::kInt4);
  call.masked_m = {0, 0, 0};
  expect_rows(grouped_masked(call.flat()).value(), {0, 0, 0, 0, 0, 0});
  const Layer none = powers(WeightFormat::kInt4, 0, 0);
  const auto no_experts = grouped_masked({none.tokens.view(), none.weights(), view_of({})});
  ASSERT_TRUE(no_experts.ok()) << no_experts.error().message();
  EXPECT_EQ(no_experts->output.shape(), (Shape{0, 0, 2}));
}

TEST(GroupedMasked, Refusals) {
  const auto refusal = [](auto change) {
    Masked call(WeightFormat::kInt4);
    GroupedMaskedInputs in = call.flat();
    change(call, in);
    const auto dims = validate_grouped_masked(in);
    return dims.ok() ? std::string("accepted") : dims.error().message();
  };
  using In = GroupedMaskedInputs;
  EXPECT_EQ(refusal([](Masked&, In&) {}), "accepted");
  EXPECT_EQ(refusal([](Masked& c, In&) { c.masked_m[2] = 3; }),
            "masked_m: value expert 2, count 3: RTE-12: every count is in 0..max_m = 2");
  EXPECT_EQ(refusal([](Masked& c, In&) { c.masked_m[1] = -1; }),
            "masked_m: value expert 1, count -1: RTE-12: every count is in 0..max_m = 2");
  EXPECT_EQ(refusal([](Masked&, In& in) { in.expected_m = 0; }),
            "expected_m: value 0: RTE-12: expected_m is at least 1");
  EXPECT_EQ(refusal([](Masked&, In& in) {
              in.latent_tokens.shape = {5, 32};
            }),
            "latent_tokens: value [5,32]: VAL-4: the shape is [E*max_m,I]: E = 3 divides the number of rows "
            "(RTE-11)");
  EXPECT_EQ(refusal([](Masked&, In& in) {
              in.latent_tokens.shape = {2, 3, 32};
            }),
            "latent_tokens: value [2,3,32]: VAL-4: the shape is [E,max_m,I] = [3,3,32]");
  EXPECT_EQ(refusal([](Masked&, In& in) {
              in.weights.scales.shape = {3, 2, 2};
              in.latent_tokens.shape = {5, 32};
            }).substr(0, 13),
            "latent_tokens")
      << "fields in their order";
  EXPECT_EQ(refusal([](Masked&, In& in) { in.latent_tokens.shape = {32}; }),
            "latent_tokens: value rank 1: VAL-1: the rank is 2 or 3");
  EXPECT_EQ(refusal([](Masked&, In& in) { in.masked_m.shape = {2}; }),
            "masked_m: value [2]: VAL-4: the shape is [E] = [3]");
}

}  // namespace
}  // namespace moe4::test
