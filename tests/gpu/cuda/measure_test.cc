// What `bench gpu` reckons with: sizes and floors of the published points, ptxas' words, what a sample call
// holds.
#include <gtest/gtest.h>

#include <set>

#include "gpu/measure/counted.h"
#include "gpu/measure/point_call.h"
#include "gpu/measure/published.h"
#include "gpu/measure/resources.h"
#include "oracle/subject/gpu/executor_tensor_core.h"

namespace moe4::gpu {
namespace {

const PublishedPoint& point(std::string_view deployment, std::int64_t tokens, bool gate_up) {
  for (const PublishedPoint& p : published_points()) {
    if (p.deployment == deployment && p.tokens == tokens && p.gate_up == gate_up) return p;
  }
  ADD_FAILURE() << deployment << " " << tokens;
  return published_points().front();
}

// The same source names rates beside times: they follow from our sizes, to their last digit.
TEST(Published, RatesFollowFromTheSizes) {
  const auto tflops = [](const PublishedPoint& p) {
    return 2e-6 * static_cast<double>(p.rows) * static_cast<double>(p.out * p.in) / p.microseconds;
  };
  EXPECT_NEAR(tflops(point("h200_prefill_ep8", 1024, true)), 192, 0.6);
  EXPECT_NEAR(tflops(point("h200_prefill_ep8", 8192, false)), 451, 0.6);
  EXPECT_NEAR(tflops(point("h200_tp8", 2048, true)), 290, 0.6);
  EXPECT_NEAR(tflops(point("h200_tp8", 16384, false)), 279, 0.6);
  EXPECT_NEAR(tflops(point("h200_grouped_prefill", 256, true)), 608, 0.6);
  const auto gigabytes = [](const PublishedPoint& p, std::int64_t active) {
    return 4800 * floors_of(p, active).memory / p.microseconds;
  };
  EXPECT_NEAR(gigabytes(point("h200_decode_ep8", 20, true), 46), 3431, 1);
  EXPECT_NEAR(gigabytes(point("h200_decode_ep8", 20, false), 46), 3421, 2);
  EXPECT_NEAR(gigabytes(point("h200_decode_ep8", 50, true), 48), 3066, 1);
  EXPECT_NEAR(gigabytes(point("h200_grouped_decode", 8, true), 48), 3220, 1);
  EXPECT_EQ(published_points().size(), 42u);
}

TEST(Published, EveryPointHasAKernelAndACall) {
  for (const PublishedPoint& p : published_points()) {
    const PointCall made = call_of(rehearsal_of(p), 132);
    ASSERT_NE(made.variant, nullptr) << p.deployment << ": " << made.error;
    EXPECT_EQ(made.call.active, 2);
    std::set<std::string> names;
    for (const SampleTensor& tensor : made.call.tensors) {
      names.insert(tensor.name);
      EXPECT_FALSE(tensor.bytes.empty()) << tensor.name;
    }
    EXPECT_TRUE(names.contains("latent_tokens") && names.contains("packed_weights") &&
                names.contains("scales"));
    EXPECT_GT(made.call.output_bytes, 0u);
  }
}

// A kernel whose blocks have all outputs of the sample asks for every byte once; one that has a quarter of
// them asks for the tokens four times.
TEST(Counted, BytesAreThoseThatAreAskedFor) {
  const ptx::TensorCore& core = *oracle::executor_tensor_core("hopper");
  for (const Variant& variant : variants()) {
    if (variant.ptx.empty()) GTEST_SKIP() << "built without the CUDA Toolkit";
    const bool wide = variant.name == "int4_indexed_wide_m16_bf16";
    if (!wide && variant.name != "int4_grouped_masked_wgmma_m16_bf16") continue;
    const Counted counted = count_call(variant, core);
    ASSERT_EQ(counted.error, "");
    EXPECT_NEAR(counted.tile_ratio(), 1, 0.02) << variant.name;
    EXPECT_NEAR(counted.ratio(), wide ? 1 : 1 + 3.0 * 16 * 2048 * 2 / static_cast<double>(counted.floor),
                0.02);
    EXPECT_EQ(counted.outputs, 16u * 512);
  }
}

// The kernels that dispatch picks: inside a block no byte is asked for twice. Partial sums of stream-K are
// beside that.
TEST(Counted, ABlockAsksForEachByteOnce) {
  const ptx::TensorCore& core = *oracle::executor_tensor_core("hopper");
  int counted = 0;
  for (const Variant& variant : variants()) {
    if (variant.ptx.empty()) GTEST_SKIP() << "built without the CUDA Toolkit";
    const bool picked = !variant.layout.empty() && variant.tile.slices == 1;
    if (!picked || variant.tile.rows > 64) continue;
    const Counted c = count_call(variant, core);
    ASSERT_EQ(c.error, "") << variant.name;
    EXPECT_LE(c.tile_ratio(), 1.02) << variant.name;
    EXPECT_GE(c.tile_ratio(), 0.99) << variant.name;
    ++counted;
  }
  EXPECT_GT(counted, 8);
}

TEST(Resources, AreReadFromTheLog) {
  const std::string_view log =
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'one' for 'sm_90a'\n"
      "ptxas info    : Function properties for one\n"
      "    16 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 40 registers, used 1 barriers, 1024 bytes smem\n"
      "ptxas info    : Compiling entry function 'two' for 'sm_90a'\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 168 registers\n";
  const auto one = resources_of(log, "one"), two = resources_of(log, "two");
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->registers, 40);
  EXPECT_EQ(one->stack, 16);
  EXPECT_EQ(one->spill_stores, 4);
  EXPECT_EQ(one->spill_loads, 12);
  EXPECT_EQ(one->static_shared, 1024);
  EXPECT_EQ(two->registers, 168);
  EXPECT_EQ(two->static_shared, 0);
  EXPECT_FALSE(resources_of(log, "three"));
}

}  // namespace
}  // namespace moe4::gpu
