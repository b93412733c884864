// RTE-32 to RTE-34: maps of expert parallelism, the aligner, grouped rows, and their inverses.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "reference/routing/grouped_rows.h"
#include "tests/reference/problem.h"
#include "tests/reference/routing_problem.h"

namespace moe4::test {
namespace {

using Ids = std::vector<std::int32_t>;

TEST(RoutingMaps, OffsetAndBack) {
  const Ids map = expert_map(6, 2, 3);
  EXPECT_EQ(map, (Ids{-1, -1, 0, 1, 2, -1}));
  EXPECT_EQ(global_ids(map), (Ids{2, 3, 4}));
  const Routes global{2, 3, {0, 2, 4, 3, 5, -1}};
  const Routes local = to_local(global, map);
  EXPECT_EQ(local.expert, (Ids{-1, 0, 2, 1, -1, -1}));
  EXPECT_EQ(to_global(local, map).expert, (Ids{-1, 2, 4, 3, -1, -1}));
}

TEST(RoutingMaps, AnyAssignmentOfExperts) {
  const Ids map = {1, -1, 0, -1, 2};
  EXPECT_EQ(global_ids(map), (Ids{2, 0, 4}));
  EXPECT_EQ(to_global(to_local({1, 3, {4, 2, 1}}, map), map).expert, (Ids{4, 2, -1}));
}

TEST(RoutingMaps, FromSelectedExperts) {
  Tensor ids(Dtype::kI64, {2, 2});
  const std::int64_t values[] = {3, -1, 4, std::int64_t{1} << 32};
  for (int n = 0; n < 4; ++n) ids.as<std::int64_t>()[n] = values[n];
  EXPECT_EQ(routes_from(ids.view(), 4), (Routes{2, 2, {3, -1, -1, -1}}));
}

TEST(RoutingAligner, WorkedExamples) {
  const Routes routes{4, 1, {0, 0, 0, 0}};
  const AlignedRoutes one = align_blocks(routes, 1, 16);
  EXPECT_EQ(one.num_tokens_padded, 16);
  EXPECT_EQ(Ids(one.sorted_ids.begin(), one.sorted_ids.begin() + 5), (Ids{0, 1, 2, 3, 4}));
  EXPECT_EQ(one.expert_ids, (Ids{0}));

  const AlignedRoutes two = align_blocks({3, 2, {2, 0, 2, -1, 0, 2}}, 3, 2);
  EXPECT_EQ(two.sorted_ids, (Ids{1, 4, 0, 2, 5, 6}));
  EXPECT_EQ(two.expert_ids, (Ids{0, 2, 2}));
  EXPECT_EQ(align_blocks({2, 2, {-1, -1, -1, -1}}, 3, 8).num_tokens_padded, 0);
}

TEST(RoutingAligner, Capacity) {
  EXPECT_EQ(aligned_capacity(10, 4, 8), 10 + 4 * 7);
  EXPECT_EQ(aligned_capacity(3, 100, 8), 24);
  EXPECT_EQ(aligned_capacity(3, 4, 8), 24) << "3 + 28 is more";
  EXPECT_EQ(aligned_capacity(0, 4, 8), 0);
}

// For every routing: blocks of one expert, valid ids first, each route once, nothing else; and back.
TEST(RoutingAligner, EveryRouteOnceAndBack) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto experts = static_cast<std::int64_t>(1 + seed % 9);
    const Routes routes = drawn_routes(static_cast<std::int64_t>(seed % 13), 3, experts, seed, seed % 2 == 1);
    for (const std::int64_t block_m : {1, 4, 8, 16, 24}) {
      const AlignedRoutes aligned = align_blocks(routes, experts, block_m);
      const auto total = static_cast<std::int32_t>(routes.expert.size());
      EXPECT_LE(aligned.num_tokens_padded, aligned_capacity(total, experts, block_m));
      EXPECT_EQ(aligned.num_tokens_padded % block_m, 0);
      EXPECT_EQ(aligned.expert_ids.size() * static_cast<std::size_t>(block_m), aligned.sorted_ids.size());
      EXPECT_TRUE(std::is_sorted(aligned.expert_ids.begin(), aligned.expert_ids.end()));
      for (std::size_t r = 0; r < aligned.sorted_ids.size(); ++r) {
        const bool first = r % static_cast<std::size_t>(block_m) == 0;
        const bool may_be_row = first || aligned.sorted_ids[r - 1] != total;
        EXPECT_FALSE(first && aligned.sorted_ids[r] == total) << "a block without rows";
        EXPECT_FALSE(!may_be_row && aligned.sorted_ids[r] != total) << "a row after a sentinel";
      }
      EXPECT_EQ(routes_from(aligned), routes);
      EXPECT_EQ(routes_from(with_tail(aligned, aligned.num_tokens_padded + 13, 0, -1)), routes);
    }
  }
}

TEST(RoutingRows, Contiguous) {
  const ContiguousRows rows = contiguous_rows({3, 2, {2, 0, 2, -1, 0, 2}}, 3, 4);
  EXPECT_EQ(rows.m_indices, (Ids{0, 0, -1, -1, 2, 2, 2, -1}));
  EXPECT_EQ(rows.map.route_of_row, (std::vector<std::int64_t>{1, 4, -1, -1, 0, 2, 5, -1}));
  EXPECT_EQ(rows.map.row_of_route, (std::vector<std::int64_t>{4, 0, 5, -1, 1, 6}));
}

TEST(RoutingRows, Masked) {
  const auto rows = masked_rows({3, 2, {2, 0, 2, -1, 0, 2}}, 3, 4);
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows->masked_m, (Ids{2, 0, 3}));
  EXPECT_EQ(rows->map.row_of_route, (std::vector<std::int64_t>{8, 0, 9, -1, 1, 10}));
  EXPECT_EQ(rows->map.route_of_row.size(), 12U);
  EXPECT_EQ(masked_rows({3, 2, {2, 0, 2, -1, 0, 2}}, 3, 2).error().message(),
            "max_m: value 2: RTE-34: it holds the rows of every expert; expert 2 has 3");
}

TEST(RoutingRows, BackToRoutesAndRouteOrder) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const auto tokens = static_cast<std::int64_t>(1 + seed % 7);
    const Routes routes = drawn_routes(tokens, 2, 5, seed, true);
    Tensor numbered(Dtype::kBF16, {tokens, 3});
    for (std::int64_t n = 0; n < numbered.elements(); ++n)
      set_bits(numbered, n, static_cast<std::uint64_t>(n + 1));

    const ContiguousRows contiguous = contiguous_rows(routes, 5, 8);
    EXPECT_EQ(routes_from(contiguous, tokens, 2), routes);
    const MaskedRows masked = masked_rows(routes, 5, 2 * tokens).value();
    EXPECT_EQ(routes_from(masked, tokens, 2), routes);

    for (const RowMap& map : {contiguous.map, masked.map}) {
      const Tensor ordered = in_route_order(gather_rows(numbered, 2, map), map);
      ASSERT_EQ(ordered.shape(), (Shape{2 * tokens, 3}));
      for (std::int64_t n = 0; n < ordered.elements(); ++n) {
        const bool present = routes.expert[static_cast<std::size_t>(n / 3)] >= 0;
        EXPECT_EQ(bits_at(ordered, n), present ? static_cast<std::uint64_t>(n / 6 * 3 + n % 3 + 1) : 0);
      }
    }
  }
}

}  // namespace
}  // namespace moe4::test
