// From a launch on a device to a subject's run.
#pragma once

#include "gpu/device/device.h"
#include "oracle/subject/subject.h"

namespace moe4::oracle {

// Launches and fills in everything of `run` but its time; run.output has its dtype and shape already. A
// device that cannot tell what was written leaves run.unwritten empty.
void run_launch(gpu::Device& device, const gpu::KernelLaunch& launch, const gpu::LaunchSettings& settings,
                gpu::BufferId output, SubjectRun& run);

}  // namespace moe4::oracle
