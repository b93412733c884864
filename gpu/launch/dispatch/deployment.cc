#include "gpu/launch/dispatch/deployment.h"

#include <algorithm>
#include <array>

namespace moe4::gpu {
namespace {

constexpr std::array<Capability, 1> kHopper = {90};
constexpr std::array<Capability, 2> kBlackwell = {100, 103};
constexpr std::array<int, 1> kEight = {8};
constexpr std::array<int, 3> kEightToThirtyTwo = {8, 16, 32};
constexpr std::span<const int> kNone;

constexpr std::array<Deployment, 6> kDeployments = {{
    {"h200_prefill_ep8", kHopper, Phase::kPrefill, "indexed", "indexed_wgmma", false, 16, kEight, kNone},
    {"h200_tp8", kHopper, Phase::kMixed, "indexed", "indexed_wgmma", false, 16, kNone, kEight},
    {"h200_decode_ep8", kHopper, Phase::kDecode, "indexed", "indexed_mma", true, 8, kEight, kNone},
    {"blackwell_decode_ep8", kBlackwell, Phase::kDecode, "indexed", "indexed_mma", true, 8, kEight, kNone},
    {"h200_grouped_prefill", kHopper, Phase::kPrefill, "grouped_contiguous", "grouped_contiguous", true, 128,
     kEightToThirtyTwo, kNone},
    {"h200_grouped_decode", kHopper, Phase::kDecode, "grouped_masked", "grouped_masked", true, 8,
     kEightToThirtyTwo, kNone},
}};

bool holds(std::span<const int> sizes, int size) {
  return std::find(sizes.begin(), sizes.end(), size) != sizes.end();
}

bool is_tensor_shard(std::int64_t out, std::int64_t in) {
  return (out == 512 && in == 7168) || (out == 7168 && in == 256);
}

bool is_whole_expert(std::int64_t out, std::int64_t in) {
  return (out == 4096 && in == 7168) || (out == 7168 && in == 2048);
}

std::string listed(std::span<const int> sizes) {
  std::string text;
  for (const int size : sizes) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return text.empty() ? "none" : text;
}

std::string size_error(const Deployment& deployment, std::string_view field, std::optional<int> size,
                       std::span<const int> offered) {
  if (!size || *size == 1 || holds(offered, *size)) return {};
  return std::string(field) + " = " + std::to_string(*size) + ": " + std::string(deployment.name) +
         " is offered for " + listed(offered);
}

ChosenDeployment checked(const Deployment& deployment, const DeploymentRequest& request) {
  if (request.out < 1 || request.in < 1) return {nullptr, "out and in must be positive"};
  if (!holds(deployment.capabilities, request.capability)) {
    return {nullptr, "capability = " + std::to_string(request.capability) + ": " +
                         std::string(deployment.name) + " runs on " + listed(deployment.capabilities)};
  }
  if (std::string error =
          size_error(deployment, "tensor_parallel", request.tensor_parallel, deployment.tensor_parallel);
      !error.empty()) {
    return {nullptr, std::move(error)};
  }
  if (std::string error =
          size_error(deployment, "expert_parallel", request.expert_parallel, deployment.expert_parallel);
      !error.empty()) {
    return {nullptr, std::move(error)};
  }
  const bool sharded = request.tensor_parallel.value_or(1) > 1;
  if (sharded && is_whole_expert(request.out, request.in)) {
    return {nullptr, "tensor_parallel = " + std::to_string(*request.tensor_parallel) +
                         ": out = " + std::to_string(request.out) + ", in = " + std::to_string(request.in) +
                         " is a whole expert, not a shard"};
  }
  return {&deployment, {}};
}

std::string_view name_for(const DeploymentRequest& request) {
  if (request.capability != 90) return "blackwell_decode_ep8";
  if (is_tensor_shard(request.out, request.in)) return "h200_tp8";
  const Phase phase = request.phase.value_or(Phase::kPrefill);
  if (phase == Phase::kMixed) return "h200_tp8";
  if (request.grouped) return phase == Phase::kDecode ? "h200_grouped_decode" : "h200_grouped_prefill";
  return phase == Phase::kDecode ? "h200_decode_ep8" : "h200_prefill_ep8";
}

}  // namespace

std::span<const Deployment> deployments() { return kDeployments; }

const Deployment* find_deployment(std::string_view name) {
  for (const Deployment& deployment : kDeployments) {
    if (deployment.name == name) return &deployment;
  }
  return nullptr;
}

ChosenDeployment choose_deployment(const DeploymentRequest& request) {
  return checked(*find_deployment(name_for(request)), request);
}

ChosenDeployment choose_deployment(std::string_view name, const DeploymentRequest& request) {
  const Deployment* const deployment = find_deployment(name);
  if (deployment == nullptr)
    return {nullptr, "deployment = " + std::string(name) + ": there is none of this name"};
  if (request.phase && *request.phase != deployment->phase) {
    return {nullptr, "phase: " + std::string(name) + " is for another phase"};
  }
  return checked(*deployment, request);
}

}  // namespace moe4::gpu
