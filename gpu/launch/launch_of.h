// What every launch plan does: module, entry, one-dimensional grid, arguments.
#pragma once

#include "gpu/launch/variant.h"

namespace moe4::gpu {

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

inline bool has_no_outputs(const LaunchShape& shape) { return shape.tokens == 0 || shape.out == 0; }

// blocks beyond 2^32-1 become 2^32-1: no device takes as many.
KernelLaunch launch_of(const Variant& variant, const LaunchShape& shape, const TensorBuffers& buffers,
                       std::int64_t blocks, ptx::Dim3 block);

}  // namespace moe4::gpu
