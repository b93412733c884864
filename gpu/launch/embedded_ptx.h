// PTX text of a kernel file, as the build made it. The definition is generated (gpu/cmake/embed_ptx.cmake).
#pragma once

#include <string_view>

namespace moe4::gpu {

// "mxfp4_linear_warp" -> the text of its compute_90a PTX; empty for an unknown file or a build without nvcc.
std::string_view embedded_ptx(std::string_view file);

}  // namespace moe4::gpu
