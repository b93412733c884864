// Deployments: the named ways in which a serving stack splits the expert layers of Kimi K2.x over GPUs and
// runs them. A deployment is chosen before weights are packed, because it fixes their layout; the packed
// weight records it (gpu/layout/packed_weight.h) and dispatch checks it. Source: the profiles of Chord
// 1f08b1e (names, architectures, layouts, what is published for which size).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gpu/layout/packer.h"

namespace moe4::gpu {

// Compute capability, 10·major + minor: 90 Hopper, 100 and 103 Blackwell.
using Capability = int;

// mixed: one packed weight serves prefill and decode.
enum class Phase { kPrefill, kDecode, kMixed };

struct Deployment {
  std::string_view name;
  std::span<const Capability> capabilities;
  Phase phase;
  std::string_view op;                   // "indexed", "grouped_contiguous", "grouped_masked"
  std::string_view layout;               // of packed INT4 weights, docs/spec/layouts.md
  bool swapped;                          // weights on the M side of the matrix instruction
  int default_block_m;                   // rows of a block of ids where no rule of this deployment holds
  std::span<const int> expert_parallel;  // sizes that it is offered for
  std::span<const int> tensor_parallel;
};

std::span<const Deployment> deployments();
const Deployment* find_deployment(std::string_view name);  // null for an unknown name

// What is known when weights are packed.
struct DeploymentRequest {
  Capability capability = 90;
  std::int64_t out = 0, in = 0;             // O and I of one GPU's weights
  std::optional<Phase> phase = {};          // absent: prefill on Hopper; kMixed only by name or by shape
  bool grouped = false;                     // Hopper: the grouped contract in place of the indexed one
  std::optional<int> expert_parallel = {};  // sizes, where the caller knows them
  std::optional<int> tensor_parallel = {};
};

// Either a deployment or the reason why there is none.
struct ChosenDeployment {
  const Deployment* deployment = nullptr;
  std::string error;
};

// By the shapes: (O, I) = (512, 7168) and (7168, 256) are the tensor-parallel shards of Kimi K2.x, everything
// else is served by whole experts.
ChosenDeployment choose_deployment(const DeploymentRequest& request);

// By name, checked against the same request.
ChosenDeployment choose_deployment(std::string_view name, const DeploymentRequest& request);

}  // namespace moe4::gpu
