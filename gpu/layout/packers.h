// The packers that packer.cc registers, one file a layout.
#pragma once

#include "gpu/layout/packer.h"

namespace moe4::gpu {

void pack_gguf(const WeightShape& shape, const PackerSource& from, const PackerTarget& to);
void pack_gpt_oss(const WeightShape& shape, const PackerSource& from, const PackerTarget& to);
void pack_indexed_mma(const WeightShape& shape, const PackerSource& from, const PackerTarget& to);
void pack_indexed_wgmma(const WeightShape& shape, const PackerSource& from, const PackerTarget& to);
void pack_grouped(const WeightShape& shape, const PackerSource& from, const PackerTarget& to);

}  // namespace moe4::gpu
