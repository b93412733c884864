// The registry and the launch plans: what gpu/kernels.inc says is true of the files, and every output has a
// thread.
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <set>

#include "gpu/launch/embedded_ptx.h"
#include "gpu/launch/variant.h"

namespace moe4::gpu {
namespace {

constexpr ExpertLinearBuffers kBuffers{{0}, {1}, {2}, {3}, {4}, {5}, {6}};

TEST(LaunchVariants, NamesFilesAndDtypesAgree) {
  std::set<std::string_view> names;
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(variant.name);
    EXPECT_TRUE(names.insert(variant.name).second) << "listed twice";
    const std::filesystem::path file(variant.file);
    EXPECT_EQ(variant.name, file.stem().string() + "_" + std::string(variant.dtype));
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(MOE4_SOURCE_DIR) / file));
    EXPECT_NE(variant.declaration.find("\"name\": \"" + std::string(variant.name) + "\""),
              std::string_view::npos);
    EXPECT_NE(variant.declaration.find("\"dtypes\": [\"" + std::string(variant.dtype) + "\"]"),
              std::string_view::npos);
  }
  EXPECT_EQ(names.size(), 6u);
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

TEST(LaunchVariants, ArgumentsAreTheKernelsInOrder) {
  for (const Variant& variant : variants()) {
    const auto launch = variant.plan(variant, {3, 5, 64, 7, 2}, kBuffers);
    ASSERT_TRUE(launch);
    EXPECT_EQ(launch->entry, variant.name);
    EXPECT_EQ(launch->ptx.data(), variant.ptx.data());
    ASSERT_EQ(launch->arguments.size(), 12u);
    for (std::uint32_t n = 0; n < 7; ++n) {
      EXPECT_EQ(launch->arguments[n].kind, Argument::Kind::kBuffer);
      EXPECT_EQ(launch->arguments[n].buffer.index, n);
    }
    const std::uint64_t sizes[] = {3, 5, 64, 7, 2};
    for (std::size_t n = 0; n < 5; ++n) {
      EXPECT_EQ(launch->arguments[7 + n].kind, Argument::Kind::kU64);
      EXPECT_EQ(launch->arguments[7 + n].bits, sizes[n]);
    }
  }
}

TEST(LaunchVariants, NoOutputsMeansNoLaunch) {
  for (const Variant& variant : variants()) {
    EXPECT_FALSE(variant.plan(variant, {0, 1, 32, 4, 1}, kBuffers));
    EXPECT_FALSE(variant.plan(variant, {4, 1, 32, 0, 1}, kBuffers));
    EXPECT_TRUE(variant.plan(variant, {1, 1, 32, 1, 0}, kBuffers));
  }
}

// Threads, warps or tile cells: as many as the kernel needs for T·O outputs, and less than a block more.
TEST(LaunchVariants, GridsCoverTheOutputsAndNoMore) {
  for (const Variant& variant : variants()) {
    const bool warp = variant.file.find("warp") != std::string_view::npos;
    const bool tile = variant.file.find("tile") != std::string_view::npos;
    for (std::int64_t tokens : {1, 3, 4, 5, 127, 128, 129}) {
      for (std::int64_t out : {1, 31, 32, 33, 64, 65}) {
        const auto launch = variant.plan(variant, {tokens, 1, 32, out, 1}, kBuffers);
        ASSERT_TRUE(launch);
        EXPECT_EQ(launch->block.x * launch->block.y * launch->block.z, 128u);
        EXPECT_EQ(launch->grid.y * launch->grid.z, 1u);
        const std::int64_t blocks = launch->grid.x;
        if (tile) {
          EXPECT_EQ(blocks, (tokens + 3) / 4 * ((out + 31) / 32));
        } else {
          const std::int64_t outputs_a_block = warp ? 4 : 128;
          EXPECT_GE(blocks * outputs_a_block, tokens * out);
          EXPECT_LT((blocks - 1) * outputs_a_block, tokens * out);
        }
      }
    }
  }
}

TEST(LaunchVariants, AGridBeyondAnyDeviceDoesNotWrap) {
  for (const Variant& variant : variants()) {
    const std::int64_t huge = std::int64_t{1} << 31;
    const auto launch = variant.plan(variant, {huge, 1, 32, huge / 2, 1}, kBuffers);
    ASSERT_TRUE(launch);
    EXPECT_EQ(launch->grid.x, std::numeric_limits<std::uint32_t>::max());
  }
}

}  // namespace
}  // namespace moe4::gpu
