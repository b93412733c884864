// The published points of the tuning rules of Chord 1f08b1e, for the shapes of Kimi K2.x.
#include "gpu/launch/dispatch/indexed_tiling.h"

#include <gtest/gtest.h>

#include "gpu/launch/dispatch/expected_blocks.h"

namespace moe4::gpu {
namespace {

constexpr WeightShape kGateUp = {48, 4096, 7168};
constexpr WeightShape kDown = {48, 7168, 2048};
constexpr WeightShape kShardGateUp = {384, 512, 7168};
constexpr WeightShape kShardDown = {384, 7168, 256};

IndexedTiling tile_of(std::string_view deployment, const WeightShape& shape, std::int64_t rows) {
  return indexed_tiling(*find_deployment(deployment), shape, rows);
}

struct Point {
  std::int64_t rows;
  int block_m;
};

TEST(IndexedTiling, PrefillBlocks) {
  for (const Point& point : {Point{1024, 40}, {2048, 64}, {4096, 96}, {8192, 96}, {16384, 176}}) {
    EXPECT_EQ(prefill_block_m(kGateUp, point.rows), point.block_m) << point.rows;
  }
  EXPECT_EQ(prefill_block_m(kDown, 16384), 128);
}

TEST(IndexedTiling, TensorParallelBlocks) {
  for (const Point& point : {Point{8192, 40},
                             {16384, 72},
                             {30719, 120},
                             {30720, 88},
                             {32768, 96},
                             {49152, 144},
                             {49153, 96},
                             {65536, 96},
                             {72960, 96},
                             {72961, 128},
                             {131072, 128}}) {
    EXPECT_EQ(tensor_parallel_block_m(kShardGateUp, point.rows), point.block_m) << point.rows;
  }
}

TEST(IndexedTiling, DecodeBlocks) {
  for (const Point& point : {Point{20 * 8, 8}, {30 * 8, 8}, {40 * 8, 16}, {50 * 8, 16}, {100 * 8, 24}}) {
    EXPECT_EQ(decode_block_m(kGateUp, point.rows), point.block_m) << point.rows;
  }
}

TEST(IndexedTiling, PrefillTiles) {
  EXPECT_EQ(tile_of("h200_prefill_ep8", kGateUp, 1024), (IndexedTiling{40, 256, 64, 2, 4, false, true}));
  EXPECT_EQ(tile_of("h200_prefill_ep8", kGateUp, 400), (IndexedTiling{24, 128, 256, 1, 4, false, true}));
  EXPECT_EQ(tile_of("h200_prefill_ep8", kDown, 400), (IndexedTiling{24, 256, 128, 1, 4, false, true}));
  EXPECT_EQ(tile_of("h200_prefill_ep8", kGateUp, 8192), (IndexedTiling{96, 256, 64, 1, 4, false, true}));
  EXPECT_TRUE(tile_of("h200_prefill_ep8", kDown, 5119).stream_k);
  EXPECT_FALSE(tile_of("h200_prefill_ep8", kDown, 5120).stream_k);
}

TEST(IndexedTiling, TwoBlocksShareAMultiprocessorFrom40To80Rows) {
  for (std::int64_t rows = 48; rows <= 4096; rows += 48) {
    const IndexedTiling tile = tile_of("h200_prefill_ep8", kGateUp, rows);
    EXPECT_EQ(tile.blocks_per_sm, tile.block_m >= 40 && tile.block_m <= 80 ? 2 : 1) << rows;
  }
}

TEST(IndexedTiling, TensorParallelTiles) {
  EXPECT_EQ(tile_of("h200_tp8", kShardGateUp, 8192), (IndexedTiling{40, 128, 128, 1, 4, false, true}));
  EXPECT_EQ(tile_of("h200_tp8", kShardGateUp, 65536), (IndexedTiling{96, 256, 64, 1, 4, false, false}));
  EXPECT_EQ(tile_of("h200_tp8", kShardDown, 65536), (IndexedTiling{96, 128, 64, 2, 4, false, false}));
  EXPECT_EQ(tile_of("h200_tp8", kShardDown, 65537), (IndexedTiling{96, 128, 64, 2, 4, false, true}));
  EXPECT_EQ(tile_of("h200_tp8", kShardDown, 4096).block_k, 128);
}

TEST(IndexedTiling, DecodeTiles) {
  EXPECT_EQ(tile_of("h200_decode_ep8", kGateUp, 160), (IndexedTiling{8, 256, 64, 4, 4, true, false}));
  EXPECT_EQ(tile_of("blackwell_decode_ep8", kDown, 272), (IndexedTiling{8, 256, 64, 4, 4, true, false}));
  EXPECT_EQ(tile_of("blackwell_decode_ep8", kDown, 848), (IndexedTiling{16, 256, 64, 4, 4, true, false}));
  EXPECT_EQ(tile_of("blackwell_decode_ep8", kDown, 1424), (IndexedTiling{32, 512, 64, 1, 4, false, true}));
  EXPECT_EQ(tile_of("blackwell_decode_ep8", kDown, 1425), (IndexedTiling{48, 512, 64, 1, 4, false, true}));
  EXPECT_EQ(tile_of("blackwell_decode_ep8", kGateUp, 320), (IndexedTiling{8, 256, 64, 4, 4, true, true}));
  EXPECT_EQ(tile_of("blackwell_decode_ep8", kGateUp, 736), (IndexedTiling{16, 512, 128, 1, 4, false, true}));
  EXPECT_EQ(tile_of("blackwell_decode_ep8", kGateUp, 737), (IndexedTiling{32, 512, 64, 1, 4, false, true}));
}

TEST(IndexedTiling, AShapeThatTheRuleDoesNotFitGetsTheDefault) {
  EXPECT_EQ(tile_of("blackwell_decode_ep8", {24, 4096, 7168}, 100),
            (IndexedTiling{8, 256, 64, 4, 4, true, false}));
  // O = 384 is no multiple of 256, I = 320 none of 128.
  EXPECT_EQ(tile_of("h200_prefill_ep8", {48, 384, 320}, 4096),
            (IndexedTiling{16, 128, 64, 1, 4, false, false}));
}

TEST(IndexedTiling, EveryTileOfEveryDeploymentIsLegal) {
  for (const Deployment& deployment : deployments()) {
    if (deployment.op != "indexed") continue;
    for (const WeightShape& shape : {kGateUp, kDown, kShardGateUp, kShardDown}) {
      for (std::int64_t rows = 1; rows <= 200000; rows = rows * 5 / 4 + 1) {
        const IndexedTiling tile = indexed_tiling(deployment, shape, rows);
        EXPECT_EQ(indexed_tiling_error(tile, deployment.layout, shape), "") << deployment.name << " " << rows;
      }
    }
  }
}

TEST(IndexedTiling, IllegalTiles) {
  const auto error = [](const IndexedTiling& tile, std::string_view layout) {
    return indexed_tiling_error(tile, layout, kGateUp);
  };
  EXPECT_NE(error({.block_m = 12}, "indexed_wgmma"), "");
  EXPECT_NE(error({.block_m = 16, .block_n = 192}, "indexed_wgmma"), "");
  EXPECT_NE(error({.block_m = 16, .block_k = 32}, "indexed_wgmma"), "");
  EXPECT_NE(error({.block_m = 16, .block_n = 64}, "indexed_wgmma"), "");
  EXPECT_NE(error({.block_m = 16, .swapped = true}, "indexed_wgmma"), "");
  EXPECT_NE(error({.block_m = 8}, "indexed_mma"), "");
  EXPECT_NE(error({.block_m = 8, .block_k = 128, .swapped = true}, "indexed_mma"), "");
  EXPECT_NE(error({.block_m = 16, .stages = 1}, "indexed_mma"), "");
  EXPECT_NE(error({.block_m = 16, .blocks_per_sm = 5, .stream_k = true}, "indexed_mma"), "");
  EXPECT_NE(indexed_tiling_error({.block_m = 16}, "indexed_mma", {48, 384, 7168}), "");
  EXPECT_NE(indexed_tiling_error({.block_m = 16}, "indexed_mma", {48, 4096, 96}), "");
}

TEST(ExpectedBlocks, DrawIsThatOfNumpy) {
  // numpy.bincount(numpy.random.RandomState(0).randint(0, 48, size=1024), minlength=48)[:8]
  const std::vector<std::int64_t> counts = drawn_rows(1024, 48);
  EXPECT_EQ(std::vector(counts.begin(), counts.begin() + 8),
            (std::vector<std::int64_t>{25, 19, 18, 32, 19, 30, 22, 24}));
  EXPECT_EQ(drawn_rows(5, 1), (std::vector<std::int64_t>{5}));
  EXPECT_EQ(drawn_rows(0, 3), (std::vector<std::int64_t>{0, 0, 0}));
}

}  // namespace
}  // namespace moe4::gpu
