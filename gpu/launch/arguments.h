// What the entries of an operation take: its tensors by name, then sizes. One list an operation, the same for
// every kernel of it, but for the workspace that some have at the end.
#pragma once

#include <string_view>
#include <vector>

#include "gpu/launch/variant.h"

namespace moe4::gpu {

// In the order of the parameters; "output" is the last one. Empty for an unknown operation.
std::vector<std::string_view> tensors_of(std::string_view op, std::string_view weights);

// The sizes that follow the tensors, each a 64-bit integer.
std::vector<std::int64_t> sizes_of(std::string_view op, const LaunchShape& shape);

// Both together, and the workspace of a variant that has one. A tensor that the call has no buffer for
// (selected_experts of combine) is a null pointer.
std::vector<Argument> arguments_of(const Variant& variant, const LaunchShape& shape,
                                   const TensorBuffers& buffers);

}  // namespace moe4::gpu
