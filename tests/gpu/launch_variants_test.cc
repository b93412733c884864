// The registry and the launch plans: what gpu/kernels.inc says is true of the files, and every output has a
// thread.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <regex>
#include <set>

#include "gpu/launch/arguments.h"
#include "gpu/launch/embedded_ptx.h"
#include "gpu/launch/variant.h"

namespace moe4::gpu {
namespace {

// One buffer a tensor, numbered in the order of the parameters.
TensorBuffers buffers_of(const Variant& variant) {
  TensorBuffers buffers;
  std::uint32_t next = 0;
  for (const std::string_view tensor : tensors_of(variant.op, variant.weights)) {
    buffers.emplace(tensor, BufferId{next++});
  }
  return buffers;
}

std::optional<KernelLaunch> plan_of(const Variant& variant, const LaunchShape& shape) {
  return variant.plan(variant, shape, buffers_of(variant));
}

LaunchShape shape_of(const Variant& variant, std::int64_t places, std::int64_t out) {
  LaunchShape shape{places, 1, 32, out, 1};
  if (variant.op == "indexed") shape.tokens = 1, shape.top_k = 1, shape.block_m = 8, shape.capacity = places;
  if (variant.op == "grouped_masked") shape.max_m = places;
  return shape;
}

// A name is its file, then what tells its tile from the others of the file, then the dtype: _m16n256 is 16
// rows × 256 outputs, k a depth, s the slices. 0: not in the name.
struct NameParts {
  std::string stem;
  int rows = 0, outputs = 0, depth = 0, slices = 0;
};

NameParts parts_of(const Variant& variant) {
  std::smatch parts;
  const std::string name(variant.name);
  const std::regex form("(.*?)(?:_m([0-9]+)(?:n([0-9]+))?(?:k([0-9]+))?(?:s([0-9]+))?)?_" +
                        std::string(variant.dtype));
  if (!std::regex_match(name, parts, form)) return {};
  const auto number = [&](std::size_t n) { return parts[n].matched ? std::stoi(parts[n]) : 0; };
  return {parts[1], number(2), number(3), number(4), number(5)};
}

// The kernels whose operands TMA brings.
bool takes_maps(const Variant& variant) {
  return variant.file.find("_grouped_") != std::string_view::npos &&
         variant.file.find("_wgmma") != std::string_view::npos;
}

// What a block makes, as the heads of the kernels say.
struct Block {
  std::int64_t rows, outputs, depth, threads, slices = 1;
};

Block block_of(const Variant& variant) {
  static const std::map<std::string_view, Block> kKnown = {
      {"int4_indexed_wgmma_m16_bf16", {16, 128, 256, 512}},
      {"int4_indexed_wgmma_m32_bf16", {32, 256, 128, 512}},
      {"int4_indexed_wgmma_m64_bf16", {64, 256, 64, 256}},
      {"int4_indexed_wgmma_m96_bf16", {96, 256, 64, 256}},
      {"int4_indexed_wgmma_m128_bf16", {128, 256, 64, 256}},
      {"int4_indexed_wgmma_m176_bf16", {176, 256, 64, 256}},
      {"int4_indexed_wgmma_shard_m32k256_bf16", {32, 128, 256, 512}},
      {"int4_indexed_wgmma_shard_m64k128_bf16", {64, 128, 128, 256}},
      {"int4_indexed_wgmma_shard_m32k128_bf16", {32, 128, 128, 256}},
      {"int4_indexed_wgmma_shard_m128k64_bf16", {128, 128, 64, 128}},
      {"int4_indexed_wgmma_stream_m64s2_bf16", {64, 256, 64, 256, 2}},
      {"int4_indexed_wgmma_stream_m64s3_bf16", {64, 256, 64, 256, 3}},
      {"int4_indexed_decode_bf16", {24, 256, 64, 128}},
      {"int4_indexed_wide_m16_bf16", {16, 512, 128, 256}},
      {"int4_indexed_wide_m32_bf16", {32, 512, 64, 256}},
      {"int4_indexed_wide_m48_bf16", {48, 512, 64, 256}},
      {"int4_indexed_mma_bf16", {8, 64, 64, 128}},
      {"mxfp4_indexed_mma_bf16", {8, 64, 64, 128}},
      {"int4_grouped_masked_wgmma_m16n256_bf16", {16, 256, 128, 640}},
      {"int4_grouped_masked_wgmma_m64n256_bf16", {64, 256, 128, 640}}};
  const auto known = kKnown.find(variant.name);
  if (known != kKnown.end()) return known->second;
  if (takes_maps(variant))
    return {parts_of(variant).rows, 128, variant.op == "grouped_masked" ? 128 : 64, 384};
  if (variant.file.find("tile") != std::string_view::npos) return {4, 32, 0, 128};
  const bool rows = variant.op != "expert_linear" && variant.op != "combine";
  return {rows ? 4 : 0, 4, 0, 128};
}

std::size_t lines_of_kernels_inc() {
  std::ifstream file(MOE4_SOURCE_DIR "/gpu/kernels.inc");
  std::size_t lines = 0;
  for (std::string line; std::getline(file, line);) lines += line.starts_with("MOE4_") ? 1 : 0;
  return lines;
}

TEST(LaunchVariants, NamesFilesAndDtypesAgree) {
  std::set<std::string_view> names;
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(variant.name);
    EXPECT_TRUE(names.insert(variant.name).second) << "listed twice";
    const std::filesystem::path file(variant.file);
    EXPECT_EQ(parts_of(variant).stem, file.stem().string());
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(MOE4_SOURCE_DIR) / file));
    EXPECT_NE(variant.declaration.find("\"name\": \"" + std::string(variant.name) + "\""),
              std::string_view::npos);
    EXPECT_NE(variant.declaration.find("\"op\": \"" + std::string(variant.op) + "\""),
              std::string_view::npos);
    EXPECT_NE(variant.declaration.find("\"weights\": \"" + std::string(variant.weights) + "\""),
              std::string_view::npos);
    EXPECT_NE(variant.declaration.find("\"dtypes\": [\"" + std::string(variant.dtype) + "\"]"),
              std::string_view::npos);
  }
  EXPECT_EQ(names.size(), lines_of_kernels_inc());
}

TEST(LaunchVariants, TilesAreThoseOfTheHeadsAndNames) {
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(variant.name);
    const Block block = block_of(variant);
    if (block.rows == 0) {
      EXPECT_EQ(variant.tile, TileSizes());
      continue;
    }
    const bool wide = variant.file == "gpu/kernels/int4_indexed_wide.cu";
    EXPECT_EQ(variant.tile,
              (TileSizes{static_cast<int>(block.rows), static_cast<int>(block.outputs),
                         static_cast<int>(block.depth), static_cast<int>(block.slices), !wide}));
    const NameParts parts = parts_of(variant);
    if (parts.rows != 0) {
      EXPECT_EQ(parts.rows, variant.tile.rows);
    }
    if (parts.outputs != 0) {
      EXPECT_EQ(parts.outputs, variant.tile.outputs);
    }
    if (parts.depth != 0) {
      EXPECT_EQ(parts.depth, variant.tile.depth);
    }
    EXPECT_EQ(std::max(parts.slices, 1), variant.tile.slices);
    EXPECT_EQ(variant.workspace_bytes != nullptr, variant.tile.slices > 1);
    const std::string layouts = "\"layouts\": \"" + std::string(variant.layout) + "\"";
    EXPECT_EQ(variant.declaration.find(layouts) != std::string_view::npos, !variant.layout.empty());
  }
}

// A count of turns for each tile that has blocks.
TEST(LaunchVariants, AWorkspaceHasACountATile) {
  int seen = 0;
  for (const Variant& variant : variants()) {
    if (variant.workspace_bytes == nullptr) continue;
    SCOPED_TRACE(variant.name);
    ++seen;
    for (const std::int64_t block_m : {8, 64, 176}) {
      LaunchShape shape = shape_of(variant, 5 * 176 * 8, 257);
      shape.block_m = block_m;
      const auto slices = static_cast<std::uint64_t>(variant.tile.slices);
      EXPECT_EQ(variant.workspace_bytes(shape) / 4 * slices, plan_of(variant, shape)->grid.x);
    }
    EXPECT_EQ(variant.workspace_bytes(shape_of(variant, 0, 1)), 0u);
  }
  EXPECT_EQ(seen, 2);
}

TEST(LaunchVariants, EveryKernelFileIsListed) {
  std::set<std::string> listed, present;
  for (const Variant& variant : variants()) listed.emplace(variant.file);
  for (const auto& entry : std::filesystem::directory_iterator(MOE4_SOURCE_DIR "/gpu/kernels")) {
    if (entry.path().extension() == ".cu") present.insert("gpu/kernels/" + entry.path().filename().string());
  }
  EXPECT_EQ(listed, present);
}

TEST(LaunchVariants, PtxHoldsTheEntry) {
  EXPECT_TRUE(embedded_ptx("no_such_kernel").empty());
  for (const Variant& variant : variants()) {
    if (variant.ptx.empty()) GTEST_SKIP() << "built without the CUDA Toolkit";
    EXPECT_NE(variant.ptx.find(".visible .entry " + std::string(variant.name) + "("), std::string_view::npos);
    EXPECT_NE(variant.ptx.find(".target sm_90a"), std::string_view::npos);
  }
}

TEST(LaunchVariants, ArgumentsAreTensorsThenSizes) {
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(variant.name);
    const LaunchShape shape{6, 5, 64, 8, 2, 8, 24, 3};
    const auto launch = plan_of(variant, shape);
    ASSERT_TRUE(launch);
    EXPECT_EQ(launch->entry, variant.name);
    EXPECT_EQ(launch->ptx.data(), variant.ptx.data());
    const auto tensors = tensors_of(variant.op, variant.weights);
    const auto sizes = sizes_of(variant.op, shape);
    ASSERT_GE(tensors.size(), 5u);
    EXPECT_EQ(tensors.back(), "output");
    const std::size_t workspace = variant.workspace_bytes == nullptr ? 0 : 1;
    ASSERT_EQ(launch->arguments.size(), tensors.size() + sizes.size() + workspace);
    for (std::uint32_t n = 0; n < tensors.size(); ++n) {
      const bool map = takes_maps(variant) && (tensors[n] == "latent_tokens" ||
                                               tensors[n] == "packed_weights" || tensors[n] == "scales");
      EXPECT_EQ(launch->arguments[n].kind, map ? Argument::Kind::kTensorMap : Argument::Kind::kBuffer);
      if (map) {
        EXPECT_EQ(ptx::problem_of(launch->arguments[n].map), "");
      }
      EXPECT_EQ(launch->arguments[n].buffer.index, n);
    }
    for (std::size_t n = 0; n < sizes.size(); ++n) {
      EXPECT_EQ(launch->arguments[tensors.size() + n].kind, Argument::Kind::kU64);
      EXPECT_EQ(launch->arguments[tensors.size() + n].bits, static_cast<std::uint64_t>(sizes[n]));
    }
  }
}

// The entries name their parameters as the contract does, so the PTX's count and the list agree.
TEST(LaunchVariants, EveryEntryTakesThatManyParameters) {
  for (const Variant& variant : variants()) {
    if (variant.ptx.empty()) GTEST_SKIP() << "built without the CUDA Toolkit";
    SCOPED_TRACE(variant.name);
    const std::size_t begin = variant.ptx.find(".visible .entry " + std::string(variant.name) + "(");
    const std::size_t end = variant.ptx.find(')', begin);
    std::size_t parameters = 0;
    for (std::size_t at = begin; (at = variant.ptx.find(".param", at + 1)) < end;) ++parameters;
    EXPECT_EQ(parameters, tensors_of(variant.op, variant.weights).size() +
                              sizes_of(variant.op, LaunchShape{}).size() +
                              (variant.workspace_bytes == nullptr ? 0 : 1));
  }
}

TEST(LaunchVariants, ATensorThatIsNotThereIsANullPointer) {
  for (const Variant& variant : variants()) {
    if (variant.op != "combine") continue;
    TensorBuffers buffers = buffers_of(variant);
    buffers.erase("selected_experts");
    const auto launch = variant.plan(variant, {3, 1, 0, 7, 2}, buffers);
    ASSERT_TRUE(launch);
    EXPECT_EQ(launch->arguments[2].kind, Argument::Kind::kU64);
    EXPECT_EQ(launch->arguments[2].bits, 0u);
  }
}

TEST(LaunchVariants, NoOutputsMeansNoLaunch) {
  for (const Variant& variant : variants()) {
    LaunchShape none = shape_of(variant, 4, 1);
    none.tokens = 0;
    EXPECT_FALSE(plan_of(variant, none));
    EXPECT_FALSE(plan_of(variant, shape_of(variant, 4, 0)));
    LaunchShape no_slots = shape_of(variant, 1, 1);
    no_slots.top_k = 0;
    EXPECT_TRUE(plan_of(variant, no_slots));
    if (variant.op == "indexed") {
      EXPECT_FALSE(plan_of(variant, shape_of(variant, 0, 1)));
    }
  }
}

// Threads, warps or tile cells: as many as the kernel needs for its outputs, and less than a block more.
TEST(LaunchVariants, GridsCoverTheOutputsAndNoMore) {
  for (const Variant& variant : variants()) {
    const Block block = block_of(variant);
    const bool warp = variant.file.find("warp") != std::string_view::npos;
    for (std::int64_t places : {1, 3, 4, 5, 127, 128, 129}) {
      for (std::int64_t out : {1, 31, 32, 33, 64, 65, 129, 257}) {
        SCOPED_TRACE(std::string(variant.name) + " places " + std::to_string(places));
        const auto launch = plan_of(variant, shape_of(variant, places, out));
        ASSERT_TRUE(launch);
        EXPECT_EQ(launch->block.x * launch->block.y * launch->block.z, block.threads);
        EXPECT_EQ(launch->grid.y * launch->grid.z, 1u);
        const std::int64_t blocks = launch->grid.x;
        if (block.rows > 0) {
          // Ids in blocks of 8 (shape_of), each cut into tiles: a tile of more rows has 8 of them.
          const bool ids = variant.op == "indexed" && block.rows > 8;
          const std::int64_t rows = ids ? 8 : block.rows;
          EXPECT_EQ(blocks, block.slices * ((places + rows - 1) / rows) *
                                ((out + block.outputs - 1) / block.outputs));
        } else {
          const std::int64_t outputs_a_block = warp ? 4 : 128;
          EXPECT_EQ(blocks, places * ((out + outputs_a_block - 1) / outputs_a_block));
        }
      }
    }
  }
}

TEST(LaunchVariants, BlocksOfMoreIdsThanATileAreCut) {
  for (const Variant& variant : variants()) {
    if (variant.op != "indexed" || block_of(variant).outputs < 128) continue;
    SCOPED_TRACE(variant.name);
    LaunchShape shape = shape_of(variant, 176 * 3, 512);
    shape.block_m = 176;
    const Block block = block_of(variant);
    EXPECT_EQ(plan_of(variant, shape)->grid.x, block.slices * 3 * ((176 + block.rows - 1) / block.rows) *
                                                   ((512 + block.outputs - 1) / block.outputs));
  }
}

TEST(LaunchVariants, AGridBeyondAnyDeviceDoesNotWrap) {
  for (const Variant& variant : variants()) {
    const std::int64_t huge = std::int64_t{1} << 31;
    const auto launch = plan_of(variant, shape_of(variant, huge, huge / 2));
    ASSERT_TRUE(launch);
    EXPECT_EQ(launch->grid.x, std::numeric_limits<std::uint32_t>::max());
  }
}

}  // namespace
}  // namespace moe4::gpu
