// Which of a kernel's images a chip can run.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "gpu/device/device.h"

namespace moe4::gpu {

// 10·major + minor of "sm_90a", "compute_80"; 0: not such a word.
int capability_of(std::string_view target);

// Can a chip of this capability run the image? Machine code runs on its own major version from its own minor
// on; PTX on every later chip. A target that ends in a letter ("sm_90a") is for its own capability alone.
bool runs_on(std::string_view target, int capability);

// The best that runs: machine code before PTX, the newest of each. nullptr: none runs.
const KernelImage* pick_image(std::span<const KernelImage> images, int capability);

// ".target sm_90a" of a PTX text: "compute_90a"; empty: it has none.
std::string ptx_target(std::string_view ptx);

}  // namespace moe4::gpu
