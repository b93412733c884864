// A launch declaration made concrete for one case: buffers placed, expressions evaluated.
#pragma once

#include <optional>
#include <string_view>

#include "gpu/device/device.h"
#include "oracle/case/case_data.h"
#include "oracle/subject/launch_declaration.h"

namespace moe4::oracle {

struct LaunchPlan {
  gpu::BufferId output;
  std::optional<gpu::KernelLaunch> launch;  // none: the grid is empty
};

// Places what the arguments name on the device, which was reset before. An Error names the field of the
// declaration, and why it has no value for this case.
Result<LaunchPlan> plan_launch(const LaunchDeclaration& declaration, const CaseData& data,
                               std::uint64_t output_bytes, gpu::Device& device);

// What the device cannot do of it, whatever the case; empty: nothing.
std::string unsupported_in(const LaunchDeclaration& declaration);

}  // namespace moe4::oracle
