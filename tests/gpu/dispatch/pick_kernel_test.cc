// Which kernel serves a call, and that one launch serves every routing of its capacity.
#include "gpu/launch/dispatch/pick_kernel.h"

#include <gtest/gtest.h>

#include "gpu/launch/dispatch/grouped_tiling.h"
#include "gpu/launch/dispatch/indexed_tiling.h"

namespace moe4::gpu {
namespace {

PackedWeight weights_for(std::string_view deployment, const WeightShape& shape) {
  return {find_deployment(deployment), shape, {}, {}};  // what is picked depends on no weight
}

constexpr WeightShape kGateUp = {48, 4096, 7168};
constexpr WeightShape kDown = {48, 7168, 2048};

std::string_view picked(std::string_view deployment, const WeightShape& shape, const Call& call,
                        int block_m) {
  const PickedKernel kernel = pick_kernel(weights_for(deployment, shape), call);
  EXPECT_EQ(kernel.error, "");
  EXPECT_EQ(kernel.block_m, block_m);
  return kernel.variant == nullptr ? "" : kernel.variant->name;
}

TEST(PickKernel, IndexedTakesTheSmallestTileThatHoldsABlock) {
  const auto prefill = [](std::int64_t rows, int block_m) {
    return picked("h200_prefill_ep8", kGateUp, {.op = "indexed", .in = 7168, .rows = rows}, block_m);
  };
  EXPECT_EQ(prefill(100, 8), "int4_indexed_wgmma_m16_bf16");
  EXPECT_EQ(prefill(400, 24), "int4_indexed_wgmma_shard_m32k256_bf16");
  EXPECT_EQ(prefill(1024, 40), "int4_indexed_wgmma_m64_bf16");
  EXPECT_EQ(prefill(4096, 96), "int4_indexed_wgmma_m96_bf16");
  EXPECT_EQ(prefill(16384, 176), "int4_indexed_wgmma_m176_bf16");
  EXPECT_EQ(picked("h200_decode_ep8", kGateUp, {.op = "indexed", .in = 7168, .rows = 400}, 16),
            "int4_indexed_decode_bf16");
}

TEST(PickKernel, BlackwellTakesWideTilesForMoreRows) {
  const auto down = [](std::int64_t rows, int block_m) {
    return picked("blackwell_decode_ep8", kDown,
                  {.op = "indexed", .capability = 100, .multiprocessors = 148, .in = 2048, .rows = rows},
                  block_m);
  };
  EXPECT_EQ(down(160, 8), "int4_indexed_decode_bf16");
  EXPECT_EQ(down(1424, 32), "int4_indexed_wide_m32_bf16");
  EXPECT_EQ(down(2000, 48), "int4_indexed_wide_m48_bf16");
  EXPECT_EQ(picked("blackwell_decode_ep8", kGateUp,
                   {.op = "indexed", .capability = 100, .multiprocessors = 148, .in = 7168, .rows = 400}, 16),
            "int4_indexed_wide_m16_bf16");
}

// The published table of the shards has 128 outputs and the depth of its rows; block_m as
// indexed_tiling_test.
TEST(PickKernel, ShardsTakeNarrowTiles) {
  const auto shard = [](const WeightShape& shape, std::int64_t rows, int block_m) {
    return picked("h200_tp8", shape, {.op = "indexed", .in = shape.in, .rows = rows}, block_m);
  };
  constexpr WeightShape kShardGateUp = {384, 512, 7168}, kShardDown = {384, 7168, 256};
  EXPECT_EQ(shard(kShardGateUp, 1024, 16), "int4_indexed_wgmma_m16_bf16");
  EXPECT_EQ(shard(kShardGateUp, 6144, 32), "int4_indexed_wgmma_shard_m32k256_bf16");
  EXPECT_EQ(shard(kShardGateUp, 8192, 40), "int4_indexed_wgmma_shard_m64k128_bf16");
  EXPECT_EQ(shard(kShardGateUp, 16384, 72), "int4_indexed_wgmma_m96_bf16");
  EXPECT_EQ(shard(kShardDown, 6144, 32), "int4_indexed_wgmma_shard_m32k128_bf16");
  EXPECT_EQ(shard(kShardDown, 131072, 128), "int4_indexed_wgmma_shard_m128k64_bf16");
  EXPECT_EQ(shard(kShardGateUp, 131072, 128), "int4_indexed_wgmma_m128_bf16");
}

// Blocks share tiles where the tiling has stream-K and the tiles leave multiprocessors idle.
TEST(PickKernel, StreamKWhereTilesAreFew) {
  const auto few = [](std::int64_t experts, std::int64_t rows, int block_m) {
    return picked("h200_prefill_ep8", {experts, 512, 7168},
                  {.op = "indexed", .multiprocessors = 132, .in = 7168, .rows = rows, .block_m = block_m},
                  block_m);
  };
  EXPECT_EQ(few(8, 800, 64), "int4_indexed_wgmma_stream_m64s3_bf16");  // 20 · 2 tiles at most, room for 264
  EXPECT_EQ(few(24, 2048, 64), "int4_indexed_wgmma_stream_m64s2_bf16");  // 56 · 2
  EXPECT_EQ(few(48, 8192, 64), "int4_indexed_wgmma_m64_bf16");           // 176 · 2
  EXPECT_EQ(few(8, 800, 96), "int4_indexed_wgmma_m96_bf16") << "no stream-K kernel has as many rows";
  EXPECT_EQ(picked("h200_prefill_ep8", {8, 4096, 2048},
                   {.op = "indexed", .in = 2048, .rows = 5120, .block_m = 64}, 64),
            "int4_indexed_wgmma_m64_bf16")
      << "the tiling has none: short rows";
}

TEST(PickKernel, ARoutingThatIsAlignedAlreadyKeepsItsBlockSize) {
  EXPECT_EQ(
      picked("h200_prefill_ep8", kGateUp, {.op = "indexed", .in = 7168, .rows = 1024, .block_m = 16}, 16),
      "int4_indexed_wgmma_m16_bf16");
}

TEST(PickKernel, GroupedTakesTheTileOfItsRule) {
  EXPECT_EQ(
      picked("h200_grouped_prefill", kGateUp, {.op = "grouped_contiguous", .in = 7168, .rows = 12288}, 128),
      "int4_grouped_contiguous_wgmma_m128_bf16");
  EXPECT_EQ(picked("h200_grouped_prefill", {1, 4096, 7168},
                   {.op = "grouped_contiguous", .in = 7168, .rows = 128}, 64),
            "int4_grouped_contiguous_wgmma_m64_bf16");
  const auto masked = [](std::int64_t expected_m, int block_m) {
    return picked("h200_grouped_decode", kGateUp,
                  {.op = "grouped_masked", .in = 7168, .rows = 6144, .expected_m = expected_m}, block_m);
  };
  EXPECT_EQ(masked(8, 16), "int4_grouped_masked_wgmma_m16n256_bf16");
  EXPECT_EQ(masked(32, 48), "int4_grouped_masked_wgmma_m64n256_bf16");
  EXPECT_EQ(masked(64, 88), "int4_grouped_masked_wgmma_m128_bf16");
  EXPECT_EQ(picked("h200_grouped_decode", {12, 4096, 7168},
                   {.op = "grouped_masked", .in = 7168, .rows = 1536, .expected_m = 8}, 16),
            "int4_grouped_masked_wgmma_m16_bf16")
      << "few experts: 128 outputs";
}

// Every kernel that dispatch knows reads the layout that the weights of its deployment have.
TEST(PickKernel, WhatIsPickedDeclaresTheLayoutOfTheWeights) {
  for (const Deployment& deployment : deployments()) {
    for (const std::int64_t rows : {1, 100, 1000, 5000, 100000}) {
      SCOPED_TRACE(std::string(deployment.name) + " " + std::to_string(rows));
      Call call{.op = deployment.op, .capability = deployment.capabilities.front(), .in = 7168, .rows = rows};
      if (deployment.op == "grouped_masked") call.expected_m = rows;
      const PickedKernel kernel = pick_kernel(weights_for(deployment.name, kGateUp), call);
      ASSERT_NE(kernel.variant, nullptr) << kernel.error;
      EXPECT_EQ(kernel.variant->op, deployment.op);
      EXPECT_EQ(kernel.variant->weights, "int4");
      EXPECT_EQ(kernel.variant->layout, deployment.layout);
    }
  }
}

TEST(PickKernel, RefusalsNameFieldValueAndRule) {
  const auto error = [](std::string_view deployment, const Call& call) {
    const PickedKernel kernel = pick_kernel(weights_for(deployment, kGateUp), call);
    EXPECT_EQ(kernel.variant, nullptr);
    return kernel.error;
  };
  EXPECT_EQ(error("h200_prefill_ep8", {.op = "grouped_masked", .in = 7168, .rows = 8, .expected_m = 8}),
            "op = grouped_masked: weights are packed for h200_prefill_ep8 (indexed): repack");
  EXPECT_EQ(error("h200_prefill_ep8", {.op = "indexed", .capability = 100, .in = 7168, .rows = 8}),
            "capability = 100: h200_prefill_ep8 does not run there");
  EXPECT_EQ(error("h200_prefill_ep8", {.op = "indexed", .in = 2048, .rows = 8}),
            "in = 2048: the weights have 7168 inputs");
  EXPECT_EQ(error("h200_prefill_ep8", {.op = "indexed", .in = 7168, .rows = -8}),
            "rows = -8: must not be negative");
  EXPECT_EQ(error("h200_prefill_ep8", {.op = "indexed", .in = 7168, .rows = 8, .block_m = 12}),
            "block_m = 12: must be a positive multiple of 8");
  EXPECT_EQ(
      error("h200_grouped_prefill", {.op = "grouped_contiguous", .in = 7168, .rows = 8, .expected_m = 8}),
      "expected_m = 8: is an argument of grouped_masked");
  EXPECT_EQ(error("h200_grouped_decode", {.op = "grouped_masked", .in = 7168, .rows = 8}),
            "expected_m: grouped_masked needs it");
  EXPECT_EQ(error("h200_grouped_decode",
                  {.op = "grouped_masked", .in = 7168, .rows = 8, .block_m = 8, .expected_m = 8}),
            "block_m = 8: is an argument of indexed");
  EXPECT_EQ(error("h200_grouped_decode", {.op = "grouped_masked", .in = 7168, .rows = 8, .expected_m = 0}),
            "expected_m = 0: must be positive");
}

}  // namespace
}  // namespace moe4::gpu
