#include "gpu/launch/dispatch/deployment.h"

#include <gtest/gtest.h>

namespace moe4::gpu {
namespace {

std::string_view chosen(const DeploymentRequest& request) {
  const ChosenDeployment choice = choose_deployment(request);
  EXPECT_EQ(choice.error, "");
  return choice.deployment == nullptr ? "" : choice.deployment->name;
}

TEST(Deployment, NamesAreUniqueAndTheirLayoutsCanBePacked) {
  for (const Deployment& deployment : deployments()) {
    SCOPED_TRACE(deployment.name);
    EXPECT_EQ(find_deployment(deployment.name), &deployment);
    EXPECT_NE(find_packer(deployment.layout), nullptr);
  }
  EXPECT_EQ(find_deployment("h200_prefill"), nullptr);
}

TEST(Deployment, IsChosenByArchitectureShapeAndPhase) {
  EXPECT_EQ(chosen({.out = 4096, .in = 7168}), "h200_prefill_ep8");
  EXPECT_EQ(chosen({.out = 7168, .in = 2048}), "h200_prefill_ep8");
  EXPECT_EQ(chosen({.out = 1024, .in = 1024}), "h200_prefill_ep8");
  EXPECT_EQ(chosen({.out = 4096, .in = 7168, .phase = Phase::kDecode}), "h200_decode_ep8");
  EXPECT_EQ(chosen({.out = 4096, .in = 7168, .grouped = true}), "h200_grouped_prefill");
  EXPECT_EQ(chosen({.out = 4096, .in = 7168, .phase = Phase::kDecode, .grouped = true}),
            "h200_grouped_decode");
  for (const Capability capability : {100, 103}) {
    EXPECT_EQ(chosen({.capability = capability, .out = 4096, .in = 7168}), "blackwell_decode_ep8");
  }
}

TEST(Deployment, TensorShardsServeBothPhasesWithOnePackedWeight) {
  for (const auto& [out, in] : {std::pair{512, 7168}, std::pair{7168, 256}}) {
    for (const Phase phase : {Phase::kPrefill, Phase::kDecode}) {
      EXPECT_EQ(chosen({.out = out, .in = in, .phase = phase, .tensor_parallel = 8}), "h200_tp8");
    }
  }
}

struct Refused {
  std::string_view name;  // empty: by shape
  DeploymentRequest request;
  std::string_view says;
};

TEST(Deployment, RefusalsNameFieldValueAndRule) {
  const Refused cases[] = {
      {"h200_prefil", {.out = 4096, .in = 7168}, "deployment = h200_prefil: there is none of this name"},
      {"h200_decode_ep8",
       {.capability = 100, .out = 4096, .in = 7168},
       "capability = 100: h200_decode_ep8 runs on 90"},
      {"",
       {.capability = 80, .out = 4096, .in = 7168},
       "capability = 80: blackwell_decode_ep8 runs on 100, 103"},
      {"",
       {.out = 4096, .in = 7168, .tensor_parallel = 8},
       "tensor_parallel = 8: h200_prefill_ep8 is offered for none"},
      {"h200_tp8",
       {.out = 4096, .in = 7168, .tensor_parallel = 8},
       "tensor_parallel = 8: out = 4096, in = 7168 is a whole expert, not a shard"},
      {"h200_tp8",
       {.out = 512, .in = 7168, .tensor_parallel = 4},
       "tensor_parallel = 4: h200_tp8 is offered for 8"},
      {"",
       {.out = 4096, .in = 7168, .expert_parallel = 16},
       "expert_parallel = 16: h200_prefill_ep8 is offered for 8"},
      {"h200_prefill_ep8",
       {.out = 4096, .in = 7168, .phase = Phase::kDecode},
       "phase: h200_prefill_ep8 is for another phase"},
      {"", {.out = 0, .in = 7168}, "out and in must be positive"},
  };
  for (const Refused& refused : cases) {
    SCOPED_TRACE(refused.says);
    const ChosenDeployment choice = refused.name.empty() ? choose_deployment(refused.request)
                                                         : choose_deployment(refused.name, refused.request);
    EXPECT_EQ(choice.deployment, nullptr);
    EXPECT_EQ(choice.error, refused.says);
  }
}

}  // namespace
}  // namespace moe4::gpu
