// Tensor maps of the tensors that TMA brings to wgmma kernels. Each is three-dimensional, so that a box never
// reaches into the next plane (expert): what lies outside arrives as zeros.
#pragma once

#include <cstdint>

#include "gpu/ptx/tensor_map.h"

namespace moe4::gpu {

// BF16 [planes, rows, I]: boxes of box_rows rows × 64 columns, 128-byte swizzle, as wgmma reads an operand.
ptx::TensorMap token_map(std::int64_t planes, std::int64_t rows, std::int64_t in, int box_rows);

// The weights that a stage takes: outputs × inputs.
struct WeightBox {
  int outputs, inputs;
};

// Codes, two a byte, [E, O, I/2]: boxes of box.outputs rows × box.inputs/2 bytes (32 or 64), swizzled with
// that span.
ptx::TensorMap code_map(std::int64_t experts, std::int64_t out, std::int64_t in, WeightBox box);

// BF16 [E, I/32, O], O a multiple of 8: boxes of box.inputs/32 groups × box.outputs.
ptx::TensorMap scale_map(std::int64_t experts, std::int64_t out, std::int64_t in, WeightBox box);

}  // namespace moe4::gpu
