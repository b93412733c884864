// What the build made of each kernel file for GPUs: machine code, and PTX that drivers compile for later
// ones.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "gpu/device/device.h"

namespace moe4::gpu {

struct EmbeddedImage {
  std::string_view file;       // "mxfp4_linear_warp"
  KernelImage image;           // "sm_90a", "sm_100a", "sm_80", "compute_80"
  std::string_view resources;  // what `ptxas -v` said of it; empty for PTX
};

// Empty in a build without nvcc. The definition is generated (gpu/cmake/embed_images.cmake).
const std::vector<EmbeddedImage>& all_embedded_images();

// Those of one file.
std::span<const KernelImage> embedded_images(std::string_view file);

}  // namespace moe4::gpu
