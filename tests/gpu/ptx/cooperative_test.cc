// Code of the toolkit's headers beyond the block, as nvcc compiles it (compiled/cooperative.cu): a grid
// barrier, printf, assert, a cluster.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "gpu/ptx/uninitialized.h"
#include "tests/gpu/ptx/ptx_kernel.h"

namespace moe4::ptx::test {
namespace {

const std::string& text() {
  static const std::string all = [] {
    std::ifstream file(MOE4_SOURCE_DIR "/tests/gpu/ptx/compiled/cooperative_sm_90a.ptx");
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }();
  return all;
}

LaunchReport grid_sums(const std::string& ptx, std::uint32_t blocks, bool cooperative, std::uint64_t seed,
                       std::vector<std::uint32_t>* sums) {
  const Module module = parse_valid(ptx);
  Memory memory;
  const std::uint64_t words = memory.add_output("words", 4 * blocks),
                      out = memory.add_output("sums", 12 * blocks);
  Launch launch{"grid_sums", {blocks, 1, 1}, {64, 1, 1}, 0, Arguments().u64(words).u64(out).u32(3).bytes(),
                {},          cooperative};
  Options options;
  if (seed != 0) options.schedule = seed;
  LaunchReport report = launch_checked(module, memory, launch, options);
  *sums = read_all<std::uint32_t>(memory, out, 3 * blocks);
  return report;
}

TEST(Cooperative, TheGridWaitsForItself) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    std::vector<std::uint32_t> sums;
    expect_clean(grid_sums(text(), 37, true, seed, &sums));
    for (std::uint32_t i = 0; i < 3 * 37; ++i) EXPECT_EQ(sums[i], 37u * 36 / 2 + 37 * 100 * (i / 37)) << i;
  }
  // A launch that is not cooperative has no grid barrier, and the code knows it.
  std::vector<std::uint32_t> sums;
  const LaunchReport report = grid_sums(text(), 2, false, 0, &sums);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].check, Check::kTrap);
}

TEST(Cooperative, AGridBarrierThatReleasesNothingIsARace) {
  std::string relaxed = text();
  for (std::size_t at; (at = relaxed.find("atom.add.release.gpu.u32")) != std::string::npos;) {
    relaxed.replace(at, 24, "atom.add.relaxed.gpu.u32");
  }
  bool found = false;
  for (std::uint64_t seed = 0; seed < 20 && !found; ++seed) {
    std::vector<std::uint32_t> sums;
    for (const Finding& finding : grid_sums(relaxed, 3, true, seed, &sums).findings) {
      found = found || finding.check == Check::kGlobalRace;
    }
  }
  EXPECT_TRUE(found);
}

LaunchReport talks(const std::vector<std::int32_t>& values, std::uint32_t blocks = 1) {
  const Module module = parse_valid(text());
  Memory memory;
  const std::uint64_t in = memory.add_input("values", std::as_bytes(std::span(values)));
  return launch(module, memory,
                {"talks",
                 {blocks, 1, 1},
                 {static_cast<std::uint32_t>(values.size()), 1, 1},
                 0,
                 Arguments().u64(in).u64(0).bytes()},
                {});
}

TEST(Cooperative, WhatAKernelPrints) {
  const LaunchReport report = talks({1, -3, 2, -40});
  expect_clean(report);
  EXPECT_EQ(report.printed,
            "thread 1:    -3|minus |0000beef|-1.500|z|1099511627776|%\n"
            "thread 3:   -40|minus |0000beef|-20.000|z|1099511627776|%\n");
  EXPECT_EQ(talks({1, 2}).printed, "");
  // Block after block, and not without end.
  EXPECT_EQ(talks({-3}, 3).printed.size(), 3 * talks({-3}).printed.size());
  EXPECT_EQ(talks(std::vector<std::int32_t>(256, -1), 100).printed.size(), kMaxPrinted);
}

TEST(Cooperative, AnAssertionSaysWhereItStands) {
  const LaunchReport report = talks({1, 5000, 2000});
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].check, Check::kTrap);
  EXPECT_EQ(report.findings[0].count, 2u);
  for (const char* says : {"`value < 1000`", "void talks(const int *", "cooperative.cu:"}) {
    EXPECT_NE(report.findings[0].message.find(says), std::string::npos) << report.findings[0].message;
  }
}

TEST(Cooperative, AClusterOfCooperativeGroups) {
  const Module module = parse_valid(text());
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Memory memory;
    const std::uint64_t out = memory.add_output("sums", 32);
    Options options;
    if (seed != 0) options.schedule = seed;
    expect_clean(launch_checked(
        module, memory, {"cluster_sums", {8, 1, 1}, {64, 1, 1}, 0, Arguments().u64(out).bytes()}, options));
    EXPECT_EQ(read_all<std::uint32_t>(memory, out, 8),
              (std::vector<std::uint32_t>{10, 10, 10, 10, 26, 26, 26, 26}));
  }
}

// The dynamic part, declared inside the body.
TEST(Cooperative, DynamicSharedMemoryOfABody) {
  const std::string body = module_header() + entry("kernel", ".param .u64 out", R"(
.extern .shared .align 16 .b8 buffer[];
mov.u32 %r1, %tid.x; mov.u32 %r2, buffer; shl.b32 %r3, %r1, 2; add.u32 %r4, %r2, %r3;
st.shared.u32 [%r4], %r1; ld.shared.u32 %r5, [%r4];
ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r5;
ret;)");
  const Module module = parse_valid(body);
  Memory memory;
  const std::uint64_t out = memory.add_output("out", 128);
  expect_clean(run(module, memory, {1, 1, 1}, {32, 1, 1}, Arguments().u64(out), {}, 128));
  EXPECT_EQ(read_all<std::uint32_t>(memory, out, 32)[31], 31u);
  const LaunchReport small = run(module, memory, {1, 1, 1}, {32, 1, 1}, Arguments().u64(out), {}, 64);
  ASSERT_FALSE(small.findings.empty());
  EXPECT_EQ(small.findings[0].check, Check::kOutOfBounds);
}

}  // namespace
}  // namespace moe4::ptx::test
