// The proved interval of every operation in both weight formats: the norm's bits and a plain FP32 kernel lie
// inside.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "reference/arithmetic/round.h"
#include "reference/bound/bounds.h"
#include "reference/bound/exact_double.h"
#include "reference/routing/grouped_rows.h"
#include "tests/reference/adversarial_data.h"
#include "tests/reference/problem.h"
#include "tests/reference/routing_problem.h"

namespace moe4::test {
namespace {

Arithmetic seq() {
  Arithmetic arithmetic;
  arithmetic.order = parse_order("seq").value();
  return arithmetic;
}

double bf16_value(std::uint64_t bits) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16)));
}

float element(const TensorView& view, const std::array<std::int64_t, 2>& index) {
  return static_cast<float>(to_double(Elements<2>(view).value(index)));
}

// The FP32 dot product of row t of a [.,I] matrix, in order, by FMA.
float dot(const TensorView& tokens, std::int64_t t, const ExpertWeights& weights, std::int64_t e,
          std::int64_t o) {
  const WeightReader reader(weights, {});
  float sum = 0;
  for (std::int64_t i = 0; i < tokens.dim(1); ++i) {
    const WeightGroup group = reader.group(e, o, i / 32);
    sum = std::fma(static_cast<float>(to_double(group[static_cast<int>(i % 32)])), element(tokens, {t, i}),
                   sum);
  }
  return sum;
}

std::uint64_t bf16(float value) {
  return round_to(kBF16, decode(F32Bits{std::bit_cast<std::uint32_t>(value)}));
}

void expect_inside(const OutputInterval& y, std::uint64_t bits) {
  EXPECT_LE(bf16_value(y.lo), bf16_value(bits));
  EXPECT_LE(bf16_value(bits), bf16_value(y.hi));
}

struct Rows {
  Layer layer;
  Routes routes;
  AlignedRoutes aligned;
};

Rows rows_problem(WeightFormat format, std::uint64_t seed) {
  Layer layer = drawn_layer(format, 6, 4, 256, 19, seed);
  const Routes routes = drawn_routes(6, 2, 4, seed, true);
  return {std::move(layer), routes, align_blocks(routes, 4, 8)};
}

void expect_rows(const Result<OutputBounds>& bounds, const Result<RowsResult>& norm, std::int64_t out) {
  ASSERT_TRUE(bounds.ok()) << bounds.error().message();
  ASSERT_TRUE(norm.ok());
  EXPECT_EQ(bounds->written, norm->written);
  ASSERT_EQ(static_cast<std::int64_t>(bounds->outputs.size()), norm->output.elements());
  ASSERT_EQ(bounds->out, out);
  std::int64_t open = 0;
  for (std::int64_t k = 0; k < norm->output.elements(); ++k) {
    const OutputInterval& y = bounds->outputs[static_cast<std::size_t>(k)];
    EXPECT_EQ(y.exact, bits_at(norm->output, k));
    if (bounds->written[static_cast<std::size_t>(k / out)] == 0) continue;
    expect_inside(y, y.exact);
    open += y.error > 0 ? 1 : 0;
  }
  EXPECT_GT(open, 0);
}

TEST(BoundOps, RowsOfEveryContract) {
  for (const WeightFormat format : kBothFormats) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      const Rows p = rows_problem(format, seed);
      const IndexedInputs indexed_call = indexed_inputs(p.layer, p.aligned);
      const auto by_id = indexed_bounds(indexed_call, {}, seq());
      expect_rows(by_id, indexed(indexed_call), p.layer.out);

      const ContiguousRows contiguous = contiguous_rows(p.routes, p.layer.experts);
      const Tensor gathered = gather_rows(p.layer.tokens, 2, contiguous.map);
      const GroupedContiguousInputs contiguous_call = {gathered.view(), p.layer.weights(),
                                                       contiguous.m_indices_view()};
      const auto by_run = grouped_contiguous_bounds(contiguous_call, {}, seq());
      expect_rows(by_run, grouped_contiguous(contiguous_call), p.layer.out);

      const MaskedRows masked = masked_rows(p.routes, p.layer.experts, 12).value();
      const Tensor blocks = gather_rows(p.layer.tokens, 2, masked.map);
      const GroupedMaskedInputs masked_call = {blocks.view(), p.layer.weights(), masked.masked_m_view()};
      const auto by_count = grouped_masked_bounds(masked_call, {}, seq());
      expect_rows(by_count, grouped_masked(masked_call), p.layer.out);

      // The same route has the same interval everywhere, and a kernel in it.
      for (std::size_t route = 0; route < p.routes.expert.size(); ++route) {
        const std::int64_t e = p.routes.expert[route];
        if (e < 0) continue;
        for (std::int64_t o = 0; o < p.layer.out; ++o) {
          const auto at = [&](const OutputBounds& bounds, std::int64_t row) {
            return bounds.outputs[static_cast<std::size_t>(row * p.layer.out + o)];
          };
          const OutputInterval y = at(*by_id, static_cast<std::int64_t>(route));
          for (const OutputInterval& z : {at(*by_run, contiguous.map.row_of_route[route]),
                                          at(*by_count, masked.map.row_of_route[route])}) {
            EXPECT_EQ(y.lo, z.lo);
            EXPECT_EQ(y.hi, z.hi);
            EXPECT_EQ(y.error, z.error);
          }
          const auto t = static_cast<std::int64_t>(route) / 2;
          expect_inside(y, bf16(dot(p.layer.tokens.view(), t, p.layer.weights(), e, o)));
        }
      }
    }
  }
}

// A row that loses its last group is outside of the interval, often: the scales differ widely.
TEST(BoundOps, ALostGroupIsSeen) {
  for (const WeightFormat format : kBothFormats) {
    Rows p = rows_problem(format, 9);
    const auto bounds = indexed_bounds(indexed_inputs(p.layer, p.aligned), {}, seq());
    std::int64_t outside = 0;
    std::int64_t outputs = 0;
    for (std::int64_t i = 0; i < 6 * 256; ++i) {
      if (i % 256 >= 224) set(p.layer.tokens, i, 0.0);
    }
    for (std::size_t route = 0; route < p.routes.expert.size(); ++route) {
      const std::int64_t e = p.routes.expert[route];
      if (e < 0) continue;
      for (std::int64_t o = 0; o < p.layer.out; ++o) {
        const OutputInterval& y =
            bounds->outputs[route * static_cast<std::size_t>(p.layer.out) + static_cast<std::size_t>(o)];
        const double got = bf16_value(
            bf16(dot(p.layer.tokens.view(), static_cast<std::int64_t>(route) / 2, p.layer.weights(), e, o)));
        ++outputs;
        outside += got < bf16_value(y.lo) || got > bf16_value(y.hi) ? 1 : 0;
      }
    }
    EXPECT_GT(3 * outside, outputs);
  }
}

TEST(BoundOps, ExpertLinearWithInt4Weights) {
  const Layer layer = drawn_layer(WeightFormat::kInt4, 6, 4, 256, 19, 5);
  const Routes routes = drawn_routes(6, 2, 4, 6);
  Tensor ids(Dtype::kI32, {6, 2});
  Tensor p(Dtype::kF32, {6, 2});
  Tensor shared(Dtype::kBF16, {6, 19});
  Random random(7);
  for (std::int64_t k = 0; k < 12; ++k) {
    set(ids, k, static_cast<double>(routes.expert[static_cast<std::size_t>(k)]));
    put(p, k, random.gauss());
  }
  for (std::int64_t k = 0; k < shared.elements(); ++k) put(shared, k, random.gauss());
  const LinearInputs inputs = {layer.tokens.view(), layer.weights(), ids.view(), p.view(), shared.view()};
  const auto bounds = expert_linear_bounds(inputs, {}, seq());
  const auto norm = expert_linear(inputs);
  ASSERT_TRUE(bounds.ok()) << bounds.error().message();
  EXPECT_TRUE(bounds->written.empty());
  for (std::int64_t k = 0; k < shared.elements(); ++k) {
    const OutputInterval& y = bounds->outputs[static_cast<std::size_t>(k)];
    EXPECT_EQ(y.exact, bits_at(*norm, k));
    const std::int64_t t = k / 19;
    float sum = element(shared.view(), {t, k % 19});
    for (std::int64_t j = 0; j < 2; ++j) {
      const std::int64_t e = routes.expert[static_cast<std::size_t>(2 * t + j)];
      const float d = dot(layer.tokens.view(), t, layer.weights(), e, k % 19);
      sum = std::fma(element(p.view(), {t, j}), d, sum);
    }
    expect_inside(y, bf16(sum));
  }
}

TEST(BoundOps, Combine) {
  Random random(3);
  Tensor rows(Dtype::kBF16, {5 * 3, 7});
  Tensor p(Dtype::kF32, {5, 3});
  Tensor shared(Dtype::kF32, {5, 7});
  Tensor ids(Dtype::kI32, {5, 3});
  for (std::int64_t k = 0; k < rows.elements(); ++k) put(rows, k, random.gauss());
  for (std::int64_t k = 0; k < p.elements(); ++k) put(p, k, random.gauss());
  for (std::int64_t k = 0; k < shared.elements(); ++k) put(shared, k, random.gauss());
  for (std::int64_t k = 0; k < ids.elements(); ++k) set(ids, k, static_cast<double>(k % 4) - 1);
  for (const bool with_ids : {false, true}) {
    CombineInputs inputs = {rows.view(), p.view(), {}, shared.view()};
    if (with_ids) inputs.selected_experts = ids.view();
    const auto bounds = combine_bounds(inputs, Dtype::kBF16, {}, {});
    const auto norm = combine(inputs, Dtype::kBF16);
    ASSERT_TRUE(bounds.ok()) << bounds.error().message();
    EXPECT_GT(bounds->singleton_share, 0.9);
    for (std::int64_t k = 0; k < shared.elements(); ++k) {
      const OutputInterval& y = bounds->outputs[static_cast<std::size_t>(k)];
      EXPECT_EQ(y.exact, bits_at(*norm, k));
      const std::int64_t t = k / 7;
      float sum = element(shared.view(), {t, k % 7});
      for (std::int64_t j = 0; j < 3; ++j) {
        if (with_ids && (3 * t + j) % 4 == 0) continue;
        const float term = element(p.view(), {t, j}) * element(rows.view(), {3 * t + j, k % 7});
        sum = sum + term;
      }
      expect_inside(y, bf16(sum));
      EXPECT_GT(y.error, 0);
    }
  }
}

TEST(BoundOps, InvalidCallsAreRefusedAsByTheOperation) {
  const Rows p = rows_problem(WeightFormat::kInt4, 1);
  IndexedInputs call = indexed_inputs(p.layer, p.aligned);
  call.top_k = 0;
  const auto bounds = indexed_bounds(call, {}, seq());
  ASSERT_FALSE(bounds.ok());
  EXPECT_EQ(bounds.error(), indexed(call).error());
}

}  // namespace
}  // namespace moe4::test
