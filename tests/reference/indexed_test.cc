// op=indexed (RTE-3 to RTE-7): which rows are written with what, what is not read, what is refused.
#include <gtest/gtest.h>

#include <cstring>

#include "reference/linear/indexed.h"
#include "tests/reference/problem.h"
#include "tests/reference/routing_problem.h"

namespace moe4::test {
namespace {

// Experts 0 and 1 with weights 1 and 2, tokens t filled with t + 1; the row of (t, e) is 32·(t+1)·(e+1).
Layer small(WeightFormat format, std::int64_t tokens = 3) {
  Layer layer(format, tokens, 2, 32, 2);
  layer.scale_bits(1, format == WeightFormat::kMxfp4 ? 128 : 0x4000);
  for (std::int64_t n = 0; n < tokens * 32; ++n) set(layer.tokens, n, static_cast<double>(n / 32 + 1));
  return layer;
}

struct Call {
  explicit Call(WeightFormat format = WeightFormat::kInt4) : layer(small(format)) {}

  IndexedInputs inputs() const { return indexed_inputs(layer, routing); }
  std::string refusal() const {
    const auto dims = validate_indexed(inputs());
    return dims.ok() ? "accepted" : dims.error().message();
  }

  Layer layer;
  // Ids of 3 tokens × 2 slots; 6 and more are sentinels.
  AlignedRoutes routing{3, 2, 4, {4, 0, 6, 6, 1, 7, 99, 0x7FFFFFFF}, {1, 0}, 8};
};

void expect_rows(const RowsResult& result, const std::vector<double>& rows) {
  ASSERT_EQ(result.written.size(), rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    EXPECT_EQ(result.written[row], rows[row] != 0 ? 1 : 0) << row;
    for (std::size_t o = 0; o < 2; ++o) {
      EXPECT_EQ(bits_at(result.output, static_cast<std::int64_t>(2 * row + o)),
                encode(Dtype::kBF16, rows[row]))
          << row;
    }
  }
}

TEST(Indexed, RowsAndSentinels) {
  for (const WeightFormat format : kBothFormats) {
    const auto result = indexed(Call(format).inputs());
    ASSERT_TRUE(result.ok()) << result.error().message();
    EXPECT_EQ(result->output.shape(), (Shape{6, 2}));
    expect_rows(*result, {64, 32, 0, 0, 192, 0});  // id 4 is token 2, slot 0
  }
}

TEST(Indexed, SentinelsAnywhereAndAPartialBlock) {
  Call call;
  call.routing.sorted_ids = {6, 4, 6, 0, 6, 1, 2, 3};
  call.routing.num_tokens_padded = 6;
  expect_rows(indexed(call.inputs()).value(), {64, 32, 0, 0, 192, 0});  // ids 2 and 3 are not active
}

TEST(Indexed, NothingActive) {
  Call call;
  call.routing.num_tokens_padded = 0;
  expect_rows(indexed(call.inputs()).value(), {0, 0, 0, 0, 0, 0});
  call.routing.sorted_ids = {};
  call.routing.expert_ids = {};
  expect_rows(indexed(call.inputs()).value(), {0, 0, 0, 0, 0, 0});
}

TEST(Indexed, OtherRowsOfTheCallersMemoryStay) {
  const Call call;
  std::vector<std::uint16_t> memory(14, 0xABCD);
  const auto written = indexed(call.inputs(), {Dtype::kBF16, {6, 2}, memory.data() + 1});
  ASSERT_TRUE(written.ok());
  EXPECT_EQ(*written, (std::vector<std::uint8_t>{1, 1, 0, 0, 1, 0}));
  for (std::size_t n = 0; n < 14; ++n) {
    const bool named = n >= 1 && n < 13 && (*written)[(n - 1) / 2] == 1;
    EXPECT_EQ(memory[n] == 0xABCD, !named) << n;
  }
}

// RTE-4, RTE-6: the tails lie on a page that may not be read; so do the experts and tokens of no row.
TEST(Indexed, TailsAreNotRead) {
  Call call;
  const IndexedInputs whole = call.inputs();
  const GuardedBytes ids(8 * 4), experts(2 * 4), tokens(3 * 64), codes(2 * 2 * 16), scales(2 * 2 * 2);
  std::memcpy(ids.data(), call.routing.sorted_ids.data(), 32);
  std::memcpy(experts.data(), call.routing.expert_ids.data(), 8);
  std::memcpy(tokens.data(), call.layer.tokens.data(), 192);
  std::memcpy(codes.data(), call.layer.packed_weights.data(), 64);
  std::memcpy(scales.data(), call.layer.scales.data(), 8);
  IndexedInputs guarded = whole;
  guarded.sorted_ids = {Dtype::kI32, {1000}, ids.data(), {}};
  guarded.expert_ids = {Dtype::kI32, {1000}, experts.data(), {}};
  guarded.latent_tokens = {Dtype::kBF16, {300, 32}, tokens.data(), {}};
  guarded.weights = ExpertWeights::int4({Dtype::kI32, {50, 2, 4}, codes.data(), {}},
                                        {Dtype::kBF16, {50, 2, 1}, scales.data(), {}});
  // With 300 tokens the sentinels 6, 7 and 99 would be rows.
  for (int n : {2, 3, 5, 6}) reinterpret_cast<std::int32_t*>(ids.data())[n] = 600;
  const auto result = indexed(guarded);
  ASSERT_TRUE(result.ok()) << result.error().message();
  EXPECT_EQ(std::memcmp(result->output.data(), indexed(whole)->output.data(), 5 * 4), 0);
}

TEST(Indexed, PoisonWhereNothingIsRead) {
  for (const WeightFormat format : kBothFormats) {
    Call call(format);
    Layer wide(format, 3, 4, 32, 2);
    wide.scale_bits(1, format == WeightFormat::kMxfp4 ? 128 : 0x4000).poison_expert(2).poison_expert(3);
    wide.tokens = call.layer.tokens;
    for (int i = 0; i < 32; ++i) set_bits(wide.tokens, 32 + i, 0x7FC0);  // token 1 has no row
    const RowsResult clean = indexed(call.inputs()).value();
    call.layer = wide;
    EXPECT_EQ(bytes_of(indexed(call.inputs())->output), bytes_of(clean.output));
  }
}

// A block that names no row may have any expert; -1 there is no error of the norm.
TEST(Indexed, ExpertOfABlockWithoutRows) {
  Call call;
  call.routing.sorted_ids = {6, 6, 6, 6, 1, 0, 4, 6};
  for (const int expert : {-1, 2, 1 << 30}) {
    call.routing.expert_ids[0] = expert;
    expect_rows(indexed(call.inputs()).value(), {32, 32, 0, 0, 96, 0});
  }
}

TEST(Indexed, DownProjectionHasOneSlot) {
  for (const WeightFormat format : kBothFormats) {
    Call call(format);
    call.layer = small(format, 6);
    call.routing.tokens = 6;
    call.routing.top_k = 1;  // the same ids: row v from token v
    expect_rows(indexed(call.inputs()).value(), {1 * 64, 2 * 32, 0, 0, 5 * 64, 0});
  }
}

TEST(Indexed, ValuesRoundOnceAndFollowExtendedReals) {
  for (const WeightFormat format : kBothFormats) {
    Call call(format);
    for (int i = 0; i < 32; ++i) set(call.layer.tokens, i, i == 0 ? 256 : i == 1 ? 1 : 0);
    EXPECT_EQ(bits_at(indexed(call.inputs())->output, 2), encode(Dtype::kBF16, 256)) << "257 is a tie";
    set(call.layer.tokens, 2, 0.0078125);
    EXPECT_EQ(bits_at(indexed(call.inputs())->output, 2), encode(Dtype::kBF16, 258)) << "above the tie";
    for (int i = 0; i < 32; ++i) set(call.layer.tokens, i, -0.0);
    EXPECT_EQ(bits_at(indexed(call.inputs())->output, 2), 0U) << "an exact zero is +0";
    set_bits(call.layer.tokens, 0, 0xFF80);
    EXPECT_EQ(bits_at(indexed(call.inputs())->output, 2), 0xFF80U);
    set_bits(call.layer.tokens, 1, 0x7F80);
    EXPECT_EQ(bits_at(indexed(call.inputs())->output, 2), 0x7FC0U);
  }
}

TEST(Indexed, NoTokensNoOutputs) {
  Layer none(WeightFormat::kInt4, 0, 2, 32, 2);
  const AlignedRoutes sentinels{0, 2, 4, {0, 1, 2, 3}, {-1}, 4};
  const auto result = indexed(indexed_inputs(none, sentinels));
  ASSERT_TRUE(result.ok()) << result.error().message();
  EXPECT_EQ(result->output.shape(), (Shape{0, 2}));
  Call narrow;
  narrow.layer = Layer(WeightFormat::kInt4, 3, 2, 32, 0);
  EXPECT_EQ(indexed(narrow.inputs())->written, (std::vector<std::uint8_t>{1, 1, 0, 0, 1, 0}));
}

TEST(Indexed, Refusals) {
  const auto refusal = [](auto change) {
    Call call;
    change(call);
    return call.refusal();
  };
  EXPECT_EQ(refusal([](Call&) {}), "accepted");
  EXPECT_EQ(refusal([](Call& c) { c.routing.top_k = 0; }), "top_k: value 0: RTE-7: top_k is at least 1");
  EXPECT_EQ(refusal([](Call& c) { c.routing.top_k = -1; }), "top_k: value -1: RTE-7: top_k is at least 1");
  EXPECT_EQ(refusal([](Call& c) { c.routing.block_m = 0; }),
            "block_m: value 0: RTE-7: block_m is at least 1");
  EXPECT_EQ(
      refusal([](Call& c) { c.routing.top_k = 1 << 30; }),
      "top_k: value 1073741824: RTE-7: M * top_k is at most 2^31 - 1, so that an I32 can name every row "
      "and a sentinel");
  EXPECT_EQ(refusal([](Call& c) { c.routing.num_tokens_padded = -4; }),
            "num_tokens_padded: value -4: RTE-7: the count is in 0..8, the capacity of sorted_ids");
  EXPECT_EQ(refusal([](Call& c) { c.routing.num_tokens_padded = 9; }),
            "num_tokens_padded: value 9: RTE-7: the count is in 0..8, the capacity of sorted_ids");
  EXPECT_EQ(refusal([](Call& c) { c.routing.expert_ids = {1}; }),
            "expert_ids: value [1]: RTE-7: there is an expert for each of the 2 active blocks");
  EXPECT_EQ(refusal([](Call& c) { c.routing.sorted_ids[6] = -1; }),
            "sorted_ids: value position 6, id -1: RTE-7: no id is negative; a sentinel is M * top_k or more");
  EXPECT_EQ(refusal([](Call& c) { c.routing.sorted_ids[5] = 4; }),
            "sorted_ids: value position 5, id 4: RTE-7: no row is named twice; this is a duplicate");
  for (const int expert : {-1, 2}) {
    EXPECT_EQ(refusal([expert](Call& c) { c.routing.expert_ids[1] = expert; }),
              "expert_ids: value block 1, expert " + std::to_string(expert) +
                  ": RTE-7: the expert of a row is in 0..1");
  }
  Call hint;
  IndexedInputs in = hint.inputs();
  in.valid_shape_m = -1;
  EXPECT_EQ(validate_indexed(in).error().message(),
            "valid_shape_m: value -1: RTE-7: valid_shape_m is not negative");
}

TEST(Indexed, RefusalsOfTensors) {
  const Call call;
  const auto refusal = [&call](auto change, MutableTensorView output) {
    IndexedInputs in = call.inputs();
    change(in, output);
    const auto result = indexed(in, output);
    return result.ok() ? std::string("accepted") : result.error().message();
  };
  Tensor out(Dtype::kBF16, {6, 2});
  const auto of = [&](auto change) { return refusal(change, out.mutable_view()); };
  using In = IndexedInputs;
  using Out = MutableTensorView;
  EXPECT_EQ(of([](In&, Out&) {}), "accepted");
  EXPECT_EQ(of([](In& in, Out&) {
              in.sorted_ids.shape = {2, 4};
            }),
            "sorted_ids: value rank 2: VAL-1: the rank is 1");
  EXPECT_EQ(of([](In& in, Out&) {
              in.num_tokens_padded.shape = {1, 1};
            }),
            "num_tokens_padded: value rank 2: VAL-1: the rank is 0 or 1");
  EXPECT_EQ(of([](In& in, Out&) { in.num_tokens_padded.shape = {1}; }), "accepted");
  EXPECT_EQ(of([](In& in, Out&) { in.num_tokens_padded.shape = {2}; }),
            "num_tokens_padded: value [2]: VAL-4: the shape is [1] = [1]");
  EXPECT_EQ(of([](In& in, Out&) { in.latent_tokens.dtype = Dtype::kF16; }),
            "latent_tokens: value F16: VAL-2: the dtype is one of BF16");
  EXPECT_EQ(of([](In& in, Out&) { in.expert_ids.dtype = Dtype::kI64; }),
            "expert_ids: value I64: VAL-2: the dtype is one of I32");
  EXPECT_EQ(of([](In&, Out& o) {
              o.shape = {5, 2};
            }),
            "output: value [5,2]: VAL-4: the shape is [M*top_k,O] = [6,2]");
  EXPECT_EQ(of([](In&, Out& o) { o.dtype = Dtype::kF16; }),
            "output: value F16: VAL-5: the output has the dtype BF16");
  EXPECT_EQ(of([](In& in, Out& o) { o.data = const_cast<void*>(in.sorted_ids.data); }),
            "output: value shares memory with sorted_ids: VAL-7: the bytes of the output overlap those of no "
            "input");
  EXPECT_EQ(of([](In& in, Out&) { in.sorted_ids.data = nullptr; }),
            "sorted_ids: value null: VAL-9: a data pointer is null only if the tensor has no elements");
  EXPECT_EQ(bytes_of(out), bytes_of(indexed(call.inputs())->output)) << "refused calls wrote nothing";
}

}  // namespace
}  // namespace moe4::test
