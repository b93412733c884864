#include "gpu/launch/dispatch/packed_weight.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace moe4::gpu {
namespace {

constexpr WeightShape kShape = {2, 128, 128};

PackedWeightResult packed(std::string_view deployment, const WeightShape& shape = kShape) {
  std::vector<std::byte> codes(static_cast<std::size_t>(kShape.experts * kShape.out * kShape.in / 2));
  std::vector<std::byte> scales(static_cast<std::size_t>(kShape.experts * kShape.out * kShape.groups() * 2));
  for (std::size_t n = 0; n < codes.size(); ++n) codes[n] = static_cast<std::byte>(n * 167 + n / 251);
  for (std::size_t n = 0; n < scales.size(); ++n) scales[n] = static_cast<std::byte>(n * 31);
  return pack_for(*find_deployment(deployment), shape, {codes, scales});
}

TEST(PackedWeight, RecordsItsDeploymentAndHoldsAllCodes) {
  for (const Deployment& deployment : deployments()) {
    SCOPED_TRACE(deployment.name);
    const PackedWeightResult result = packed(deployment.name);
    ASSERT_TRUE(result.weight) << result.error;
    EXPECT_EQ(result.weight->deployment, &deployment);
    EXPECT_EQ(result.weight->codes.size(), 2u * 128 * 64);
    EXPECT_EQ(result.weight->scales.size(), 2u * 128 * 4 * 2);
    EXPECT_TRUE(std::any_of(result.weight->codes.begin(), result.weight->codes.end(),
                            [](std::byte byte) { return byte != std::byte{0}; }));
  }
}

// One packed weight serves every deployment of its contract and layout, and no other (RTE-29).
TEST(PackedWeight, ServesItsOwnContractAndLayout) {
  for (const Deployment& mine : deployments()) {
    const PackedWeightResult result = packed(mine.name);
    for (const Deployment& other : deployments()) {
      const std::string error = packed_weight_error(*result.weight, other);
      EXPECT_EQ(error.empty(), mine.op == other.op && mine.layout == other.layout)
          << mine.name << " " << other.name;
      EXPECT_EQ(error.find("repack") == std::string::npos, error.empty());
    }
  }
  EXPECT_EQ(
      packed_weight_error(*packed("h200_prefill_ep8").weight, *find_deployment("h200_decode_ep8")),
      "weights are packed for h200_prefill_ep8 (indexed_wgmma); h200_decode_ep8 needs indexed_mma: repack");
}

TEST(PackedWeight, RefusesAShapeThatTheLayoutOrTheSourceDoesNotHold) {
  EXPECT_FALSE(packed("h200_grouped_decode", {2, 128, 64}).weight);
  EXPECT_FALSE(packed("h200_decode_ep8", {2, 100, 128}).weight);
  EXPECT_FALSE(packed("h200_decode_ep8", {-1, 128, 128}).weight);
  const PackedWeightResult huge = packed("h200_decode_ep8", {std::int64_t{1} << 40, 128, 128});
  EXPECT_FALSE(huge.weight);
  EXPECT_NE(huge.error.find("source codes"), std::string::npos) << huge.error;
}

}  // namespace
}  // namespace moe4::gpu
