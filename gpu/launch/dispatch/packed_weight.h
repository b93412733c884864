// INT4 weights in the layout of a deployment. The deployment stays with them: a kernel for another layout
// reads wrong numbers without any error of its own.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "gpu/launch/dispatch/deployment.h"

namespace moe4::gpu {

struct PackedWeight {
  const Deployment* deployment = nullptr;
  WeightShape shape;
  std::vector<std::byte> codes;
  std::vector<std::byte> scales;
};

struct PackedWeightResult {
  std::optional<PackedWeight> weight;
  std::string error;
};

// source: as in compressed-tensors files (PackerSource). Refused: a shape that the layout does not hold,
// spans of another size.
PackedWeightResult pack_for(const Deployment& deployment, const WeightShape& shape,
                            const PackerSource& source);

// Why weights packed for one deployment cannot serve a call of another; empty if they can: same contract and
// layout.
std::string packed_weight_error(const PackedWeight& weight, const Deployment& needed);

}  // namespace moe4::gpu
