// PRO-14: the cut of stream-K launches, on published configurations.
#include "reference/accumulate/stream_k.h"

#include <gtest/gtest.h>

#include <map>

namespace moe4::test {
namespace {

// How many tiles have how many slices; whole tiles are not among them.
std::map<std::size_t, int> cut_tiles(const StreamKLaunch& launch) {
  std::map<std::size_t, int> tiles;
  for (std::int64_t tile = whole_tiles(launch); tile < launch.tiles(); ++tile) {
    ++tiles[stream_k_slices(launch, tile).size()];
  }
  return tiles;
}

using Counts = std::map<std::size_t, int>;

// 132 multiprocessors, 2 blocks on each; gate/up 4096 × 7168 with tiles 40 × 256 × 64, 48 row blocks.
TEST(StreamK, PrefillOnH200) {
  const StreamKLaunch launch = {264, 48, 16, 112};
  EXPECT_EQ(whole_tiles(launch), 528);
  EXPECT_EQ(cut_tiles(launch), (Counts{{2, 221}, {3, 19}}));
}

// 148 multiprocessors, 4 blocks on each, the same matrix with tiles of 8 rows.
TEST(StreamK, DecodeOnB300) {
  const auto launch = [](std::int64_t row_blocks) { return StreamKLaunch{592, row_blocks, 16, 112}; };
  EXPECT_EQ(whole_tiles(launch(46)), 592);
  EXPECT_EQ(cut_tiles(launch(46)), (Counts{{4, 144}}));
  EXPECT_EQ(cut_tiles(launch(48)), (Counts{{4, 135}, {5, 41}}));
  EXPECT_EQ(cut_tiles(launch(74)), Counts{});
  const auto most = [&](std::int64_t row_blocks) {
    const Counts counts = cut_tiles(launch(row_blocks));
    return counts.empty() ? 1 : counts.rbegin()->first;
  };
  for (std::int64_t row_blocks = 41; row_blocks <= 55; ++row_blocks) {
    EXPECT_GE(most(row_blocks), 4U) << row_blocks;
    EXPECT_LE(most(row_blocks), 10U) << row_blocks;
  }
  for (std::int64_t row_blocks = 56; row_blocks <= 77; ++row_blocks)
    EXPECT_LE(most(row_blocks), 3U) << row_blocks;
  EXPECT_GE(most(78), 6U);
}

// Fewer tiles than blocks: all are shared out. A thin rest takes a whole wave with it.
TEST(StreamK, WhichTilesAreCut) {
  EXPECT_EQ(whole_tiles({264, 1, 16, 112}), 0);
  EXPECT_EQ(whole_tiles({264, 264, 1, 8}), 0);
  EXPECT_EQ(whole_tiles({264, 528, 1, 8}), 528);
  EXPECT_EQ(whole_tiles({264, 528 + 27, 1, 8}), 528) << "27 tiles are more than a tenth of 264";
  EXPECT_EQ(whole_tiles({264, 528 + 26, 1, 8}), 264) << "26 are not";
}

// A kernel's own numbering, from the last slice, by the position of a segment that begins at step k0.
TEST(StreamK, SlicesPartEveryTileAsTheKernelCountsThem) {
  int segments = 0;
  for (const StreamKLaunch& launch :
       {StreamKLaunch{264, 48, 16, 112}, StreamKLaunch{592, 46, 16, 112}, StreamKLaunch{592, 80, 16, 112},
        StreamKLaunch{7, 3, 5, 9}, StreamKLaunch{100, 3, 3, 4}, StreamKLaunch{264, 5, 1, 1}}) {
    const std::int64_t cut = launch.tiles() - whole_tiles(launch);
    const std::int64_t share = (cut * launch.steps + launch.blocks - 1) / launch.blocks;
    for (std::int64_t tile = 0; tile < launch.tiles(); ++tile) {
      const std::vector<Slice> slices = stream_k_slices(launch, tile);
      std::int64_t at = 0;
      for (std::size_t k = 0; k < slices.size(); ++k, ++segments) {
        const Slice& s = slices[k];
        ASSERT_EQ(s.begin, at);
        ASSERT_LT(s.begin, s.end);
        at = s.end;
        if (tile < whole_tiles(launch)) continue;
        ASSERT_LE(s.end - s.begin, share);
        std::int64_t position = 0;
        std::int64_t count = (launch.steps - s.end + share - 1) / share + 1;
        if (s.begin != 0) {
          const std::int64_t first = s.begin % share;
          position = s.begin / share + (first > 0 ? 1 : 0);
          count = (launch.steps - first + share - 1) / share + (first > 0 ? 1 : 0);
        }
        ASSERT_EQ(count, static_cast<std::int64_t>(slices.size()));
        ASSERT_EQ(position, static_cast<std::int64_t>(k));
      }
      ASSERT_EQ(at, launch.steps);
    }
  }
  EXPECT_GT(segments, 3000);
}

}  // namespace
}  // namespace moe4::test
