#include "gpu/launch/dispatch/packed_weight.h"

namespace moe4::gpu {

PackedWeightResult pack_for(const Deployment& deployment, const WeightShape& shape,
                            const PackerSource& source) {
  const Packer& packer = *find_packer(deployment.layout);
  PackedWeight weight{&deployment, shape, {}, {}};
  // A shape that the source does not bear out is refused below, before it costs memory.
  if (source.codes.size() == packer.source_code_bytes(shape)) {
    weight.codes.resize(packer.code_bytes(shape));
    weight.scales.resize(packer.scale_bytes(shape));
  }
  if (std::optional<std::string> error = pack_weights(packer, shape, source, {weight.codes, weight.scales})) {
    return {std::nullopt, std::move(*error)};
  }
  return {std::move(weight), {}};
}

std::string packed_weight_error(const PackedWeight& weight, const Deployment& needed) {
  const Deployment& packed = *weight.deployment;
  if (packed.op == needed.op && packed.layout == needed.layout) return {};
  return "weights are packed for " + std::string(packed.name) + " (" + std::string(packed.layout) + "); " +
         std::string(needed.name) + " needs " + std::string(needed.layout) + ": repack";
}

}  // namespace moe4::gpu
