// CUB's block reduce and scan and a cooperative-groups kernel, compiled by nvcc in the build, run in the
// executor without a finding.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <numeric>
#include <sstream>

#include "gpu/ptx/uninitialized.h"

namespace moe4::ptx {
namespace {

class BlockLibrary : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::ifstream file(std::string(MOE4_PTX_DIR) + "/compute_" + GetParam() + "/block_library.ptx");
    if (!file) GTEST_SKIP() << "built without the CUDA Toolkit";
    std::stringstream text;
    text << file.rdbuf();
    Error error;
    module_ = Module::parse(text.str(), "block_library", &error);
    ASSERT_TRUE(module_) << error.message << " in line " << error.line;
  }

  // out of `count` integers, from in of blocks × n integers, under the default order and three others.
  std::vector<std::int32_t> run(const char* entry, std::uint32_t blocks, std::int32_t n, std::size_t count) {
    std::vector<std::int32_t> first;
    for (std::uint64_t schedule = 0; schedule < 4; ++schedule) {
      Memory memory;
      const std::uint64_t in = memory.add_input("in", std::as_bytes(std::span(in_)));
      const std::uint64_t out = memory.add_output("out", 4 * count);
      Launch launch;
      launch.entry = entry;
      launch.grid = {blocks, 1, 1};
      launch.block = {128, 1, 1};
      launch.parameters.resize(20);
      std::memcpy(launch.parameters.data(), &in, 8);
      std::memcpy(launch.parameters.data() + 8, &out, 8);
      std::memcpy(launch.parameters.data() + 16, &n, 4);
      Options options;
      if (schedule > 0) options.schedule = schedule;
      const LaunchReport report = launch_checked(*module_, memory, launch, options);
      EXPECT_FALSE(report.error) << report.error->message;
      EXPECT_TRUE(report.completed);
      for (const Finding& finding : report.findings) ADD_FAILURE() << to_string(finding);
      std::vector<std::int32_t> result(count);
      memory.read(out, std::as_writable_bytes(std::span(result)));
      if (schedule == 0) first = result;
      EXPECT_EQ(result, first) << "schedule " << schedule;
    }
    return first;
  }

  std::vector<std::int32_t> numbers(std::size_t count) {
    in_.resize(count);
    std::uint32_t state = 12345;
    for (std::int32_t& value : in_) {
      state = state * 1664525u + 1013904223u;
      value = static_cast<std::int32_t>(state >> 12) - (1 << 19);
    }
    return in_;
  }

  std::optional<Module> module_;
  std::vector<std::int32_t> in_;
};

TEST_P(BlockLibrary, CubReduce) {
  constexpr std::size_t kBlocks = 3, kCount = 301;
  const std::vector<std::int32_t> in = numbers(kBlocks * kCount);
  const std::vector<std::int32_t> out = run("cub_block_reduce", kBlocks, kCount, kBlocks);
  for (std::size_t b = 0; b < kBlocks; ++b) {
    const auto begin = in.begin() + static_cast<std::ptrdiff_t>(b * kCount);
    EXPECT_EQ(out[b], std::accumulate(begin, begin + kCount, 0));
  }
}

TEST_P(BlockLibrary, CubScan) {
  constexpr std::size_t kCount = 301;
  std::vector<std::int32_t> in = numbers(kCount);
  std::partial_sum(in.begin(), in.end(), in.begin());
  EXPECT_EQ(run("cub_block_scan", 1, kCount, kCount), in);
}

TEST_P(BlockLibrary, CooperativeGroupsMaximum) {
  constexpr std::size_t kBlocks = 2, kCount = 301;
  const std::vector<std::int32_t> in = numbers(kBlocks * kCount);
  const std::vector<std::int32_t> out = run("cg_block_max", kBlocks, kCount, kBlocks);
  for (std::size_t b = 0; b < kBlocks; ++b) {
    const auto begin = in.begin() + static_cast<std::ptrdiff_t>(b * kCount);
    EXPECT_EQ(out[b], *std::max_element(begin, begin + kCount));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, BlockLibrary, testing::Values("80", "90a"));

}  // namespace
}  // namespace moe4::ptx
