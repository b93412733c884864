// What must not change a bit: the contract under which a row is computed, block_m, tails, hints, order, and
// how experts are split over ranks.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>

#include "reference/linear/combine.h"
#include "reference/routing/contract.h"
#include "reference/routing/grouped_rows.h"
#include "tests/reference/problem.h"
#include "tests/reference/routing_problem.h"

namespace moe4::test {
namespace {

std::vector<std::uint8_t> written_routes(const Routes& routes) {
  std::vector<std::uint8_t> written;
  for (const std::int32_t expert : routes.expert) written.push_back(expert >= 0 ? 1 : 0);
  return written;
}

struct Shaped {
  std::int64_t tokens, top_k, experts, in, out;
};
constexpr Shaped kShapes[] = {{1, 1, 1, 32, 3}, {5, 3, 4, 64, 9}, {9, 2, 7, 96, 5}, {3, 4, 2, 128, 17}};

template <class Check>  // check(layer, routes, expected rows in route order)
void for_all(const Check& check) {
  std::uint64_t seed = 0;
  for (const WeightFormat format : kBothFormats) {
    for (const Shaped& s : kShapes) {
      for (const bool absent : {false, true}) {
        ++seed;
        const Layer layer = drawn_layer(format, s.tokens, s.experts, s.in, s.out, seed);
        const Routes routes = drawn_routes(s.tokens, s.top_k, s.experts, seed, absent);
        check(layer, routes, bytes_of(rows_by_expert_linear(layer, routes)));
      }
    }
  }
}

TEST(RoutingProperties, IndexedIsTheExpertLinearRowByRow) {
  for_all([](const Layer& layer, const Routes& routes, const std::vector<std::uint8_t>& expected) {
    const auto result = indexed(indexed_inputs(layer, align_blocks(routes, layer.experts, 8)));
    ASSERT_TRUE(result.ok()) << result.error().message();
    EXPECT_EQ(bytes_of(result->output), expected);
    EXPECT_EQ(result->written, written_routes(routes));
  });
}

TEST(RoutingProperties, BlockSizeTailsAndHints) {
  for_all([](const Layer& layer, const Routes& routes, const std::vector<std::uint8_t>& expected) {
    for (const std::int64_t block_m : {1, 3, 8, 16, 40, 176}) {
      AlignedRoutes aligned = align_blocks(routes, layer.experts, block_m);
      aligned = with_tail(aligned, aligned.num_tokens_padded + 2 * block_m + 1, -7, -1);
      IndexedInputs in = indexed_inputs(layer, aligned);
      for (const std::int64_t hint : {0, 1, 1000}) {
        in.valid_shape_m = hint;
        EXPECT_EQ(bytes_of(indexed(in)->output), expected) << block_m;
      }
    }
  });
}

TEST(RoutingProperties, SentinelsAndOrderInsideAnExpert) {
  for_all([](const Layer& layer, const Routes& routes, const std::vector<std::uint8_t>& expected) {
    AlignedRoutes aligned = align_blocks(routes, layer.experts, 8);
    std::int32_t sentinel = static_cast<std::int32_t>(routes.expert.size());
    for (std::size_t b = 0; b < aligned.expert_ids.size(); ++b) {
      std::reverse(aligned.sorted_ids.begin() + static_cast<std::ptrdiff_t>(8 * b),
                   aligned.sorted_ids.begin() + static_cast<std::ptrdiff_t>(8 * b + 8));
    }
    for (std::int32_t& id : aligned.sorted_ids) {
      if (id >= static_cast<std::int32_t>(routes.expert.size())) id = sentinel += 1000;
    }
    EXPECT_EQ(bytes_of(indexed(indexed_inputs(layer, aligned))->output), expected);
  });
}

TEST(RoutingProperties, GroupedContiguousHasTheSameRows) {
  for_all([](const Layer& layer, const Routes& routes, const std::vector<std::uint8_t>& expected) {
    for (const std::int64_t alignment : {1, 8, 128}) {
      const ContiguousRows rows = contiguous_rows(routes, layer.experts, alignment);
      const Tensor gathered = gather_rows(layer.tokens, routes.top_k, rows.map);
      const auto result = grouped_contiguous({gathered.view(), layer.weights(), rows.m_indices_view()});
      ASSERT_TRUE(result.ok()) << result.error().message();
      EXPECT_EQ(bytes_of(in_route_order(result->output, rows.map)), expected);
    }
  });
}

TEST(RoutingProperties, GroupedMaskedHasTheSameRows) {
  for_all([](const Layer& layer, const Routes& routes, const std::vector<std::uint8_t>& expected) {
    const auto count = static_cast<std::int64_t>(routes.expert.size());
    for (const std::int64_t max_m : {count, count + 5, std::int64_t{128}}) {
      const MaskedRows rows = masked_rows(routes, layer.experts, max_m).value();
      const Tensor gathered = gather_rows(layer.tokens, routes.top_k, rows.map);
      for (const std::int64_t expected_m : {1, 7, 1 << 20}) {
        const auto result =
            grouped_masked({gathered.view(), layer.weights(), rows.masked_m_view(), expected_m});
        ASSERT_TRUE(result.ok()) << result.error().message();
        EXPECT_EQ(bytes_of(in_route_order(result->output, rows.map)), expected);
      }
    }
  });
}

TEST(RoutingProperties, AnyNumberOfThreads) {
  const Layer layer = drawn_layer(WeightFormat::kInt4, 8, 3, 96, 90, 5);
  const AlignedRoutes aligned = align_blocks(drawn_routes(8, 3, 3, 5), 3, 8);
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const auto one = bytes_of(indexed(indexed_inputs(layer, aligned))->output);
  omp_set_num_threads(7);
  EXPECT_EQ(bytes_of(indexed(indexed_inputs(layer, aligned))->output), one);
  omp_set_num_threads(threads);
}

// Each rank has a slice of the experts and the routes in its local ids. Every route is written by one rank.
TEST(RoutingProperties, RanksOfAnExpertParallelSplitAddUp) {
  for (const WeightFormat format : kBothFormats) {
    const Layer whole = drawn_layer(format, 9, 8, 64, 11, 77);
    const Routes routes = drawn_routes(9, 3, 8, 77, true);
    const Tensor expected = rows_by_expert_linear(whole, routes);
    for (const std::int64_t ranks : {1, 2, 4, 8}) {
      const std::int64_t local = 8 / ranks;
      Tensor joined(Dtype::kBF16, {27, 11});
      std::vector<std::uint8_t> written(27, 0);
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        ExpertWeights slice = whole.weights();
        for (TensorView* view : {&slice.packed_weights, &slice.scales}) {
          view->data = static_cast<const std::byte*>(view->data) +
                       static_cast<std::size_t>(rank * local * view->strides_or_contiguous()[0]) *
                           size_of(view->dtype);
          view->shape[0] = local;
        }
        const Routes of_rank = to_local(routes, expert_map(8, rank * local, local));
        const AlignedRoutes aligned = align_blocks(of_rank, local, 8);
        IndexedInputs in = indexed_inputs(whole, aligned);
        in.weights = slice;
        const auto rows = indexed(in, joined.mutable_view());
        ASSERT_TRUE(rows.ok()) << rows.error().message();
        for (std::size_t id = 0; id < 27; ++id) written[id] += (*rows)[id];
      }
      EXPECT_EQ(written, written_routes(routes)) << ranks << " ranks: no row twice, none missing";
      EXPECT_EQ(bytes_of(joined), bytes_of(expected)) << ranks << " ranks";
    }
  }
}

// With sums that BF16 holds exactly, the combined parts of the ranks add up to the whole.
TEST(RoutingProperties, CombinedPartsOfRanksAddUp) {
  for (const WeightFormat format : kBothFormats) {
    Layer layer(format, 4, 4, 32, 2);
    for (std::int64_t n = 0; n < layer.tokens.elements(); ++n) set(layer.tokens, n, n % 32 == n / 32 ? 1 : 0);
    const Routes routes{4, 2, {0, 3, 1, 2, 2, 2, 3, 0}};
    Tensor p(Dtype::kBF16, {4, 2});
    fill(p, 2);
    const Tensor no_shared(Dtype::kBF16, {4, 2});
    std::vector<double> sums(8, 0);
    for (std::int64_t rank = 0; rank < 2; ++rank) {
      Routes mine = routes;
      for (std::int32_t& expert : mine.expert) {
        if (expert / 2 != rank) expert = -1;
      }
      const Tensor rows = indexed(indexed_inputs(layer, align_blocks(mine, 4, 8)))->output;
      const TensorView ids = {Dtype::kI32, {4, 2}, mine.expert.data(), {}};
      const Tensor y = combine({rows.view(), p.view(), ids, no_shared.view()}, Dtype::kBF16).value();
      for (std::size_t n = 0; n < 8; ++n) {
        const std::uint64_t bits = bits_at(y, static_cast<std::int64_t>(n));
        ASSERT_TRUE(bits == 0 || bits == 0x4000 || bits == 0x4080) << std::hex << bits;  // 0, 2, 4
        sums[n] += bits == 0 ? 0 : bits == 0x4000 ? 2 : 4;
      }
    }
    EXPECT_EQ(sums, std::vector<double>(8, 4.0));
  }
}

// The property tests can fail: a block_m other than the one that the ids were aligned for gives other rows.
TEST(RoutingProperties, AWrongBlockSizeIsSeen) {
  const Layer layer = drawn_layer(WeightFormat::kInt4, 9, 7, 64, 5, 3);
  const Routes routes = drawn_routes(9, 2, 7, 3);
  AlignedRoutes aligned = align_blocks(routes, 7, 8);
  const std::vector<std::uint8_t> right = bytes_of(indexed(indexed_inputs(layer, aligned))->output);
  aligned.block_m = 16;
  EXPECT_NE(bytes_of(indexed(indexed_inputs(layer, aligned))->output), right);
}

}  // namespace
}  // namespace moe4::test
