// The published points of the grouped heuristics of Chord 1f08b1e on 132 multiprocessors.
#include "gpu/launch/dispatch/grouped_tiling.h"

#include <gtest/gtest.h>

namespace moe4::gpu {
namespace {

constexpr int kH200 = 132;

struct Point {
  std::int64_t in, rows, out, experts;
  int block_m, block_n, stages;
};

TEST(GroupedTiling, MaskedPoints) {
  const Point points[] = {
      {7168, 8, 4096, 48, 16, 256, 4},  {7168, 16, 4096, 24, 24, 256, 4}, {7168, 32, 4096, 48, 48, 256, 4},
      {7168, 64, 4096, 48, 88, 256, 4}, {7168, 8, 4096, 12, 16, 128, 4},  {7168, 32, 4096, 12, 48, 128, 4},
      {2048, 8, 7168, 48, 16, 256, 4},  {2048, 16, 7168, 12, 24, 256, 4}, {2048, 32, 7168, 48, 40, 256, 4},
      {2048, 64, 7168, 48, 80, 128, 6},
  };
  for (const Point& point : points) {
    const auto [tile, error] = grouped_masked_tiling({point.experts, point.out, point.in}, point.rows, kH200);
    SCOPED_TRACE(point.in + point.rows);
    EXPECT_EQ(error, "");
    EXPECT_EQ(tile.block_m, point.block_m);
    EXPECT_EQ(tile.block_n, point.block_n);
    EXPECT_EQ(tile.block_k, 128);
    EXPECT_EQ(tile.stages, point.stages);
  }
}

TEST(GroupedTiling, ContiguousPoints) {
  EXPECT_EQ(grouped_contiguous_tiling({48, 4096, 7168}, 12288, kH200).tile,
            (GroupedTiling{128, 128, 64, 8, 384, true}));
  EXPECT_EQ(grouped_contiguous_tiling({1, 4096, 7168}, 128, kH200).tile,
            (GroupedTiling{64, 64, 64, 8, 256, false}));
}

TEST(GroupedTiling, EveryTileFitsInSharedMemory) {
  for (const std::int64_t in : {2048, 7168}) {
    for (const std::int64_t rows : {1, 7, 8, 16, 31, 64, 100, 128, 1000, 1 << 30}) {
      for (const std::int64_t experts : {1, 12, 24, 48, 384}) {
        const WeightShape shape{experts, in == 7168 ? 4096 : 7168, in};
        for (const ChosenGroupedTiling& chosen :
             {grouped_masked_tiling(shape, rows, kH200), grouped_contiguous_tiling(shape, rows, kH200)}) {
          EXPECT_EQ(chosen.error, "");
          EXPECT_LE(grouped_shared_bytes(chosen.tile), 232448);
          EXPECT_GE(chosen.tile.stages, 3);
        }
      }
    }
  }
}

TEST(GroupedTiling, RefusalsNameFieldValueAndRule) {
  EXPECT_EQ(grouped_masked_tiling({48, 4096, 7168}, 0, kH200).error, "expected_m = 0: must be positive");
  EXPECT_EQ(grouped_contiguous_tiling({48, 4096, 7168}, -1, kH200).error, "rows = -1: must be positive");
  EXPECT_EQ(grouped_masked_tiling({48, 4096, 7168}, 8, 131).error,
            "multiprocessors = 131: must be a positive even number");
  EXPECT_EQ(grouped_masked_tiling({48, 4096, 2112}, 8, kH200).error,
            "in = 2112: must be a positive multiple of 128");
  EXPECT_EQ(grouped_contiguous_tiling({48, 4112, 7168}, 8, kH200).error,
            "out = 4112: must be a positive multiple of 64");
  EXPECT_EQ(grouped_contiguous_tiling({0, 4096, 7168}, 8, kH200).error, "experts = 0: must be positive");
}

}  // namespace
}  // namespace moe4::gpu
