// One launch, from a checked geometry to a report.
#pragma once

#include "gpu/ptx/ptx.h"
#include "gpu/ptx/run/block.h"

namespace moe4::ptx {

// Fills `run` for a launch, or says why it cannot be done. begin_launch of the memory is the caller's.
std::optional<Error> prepare(const Module& module, Memory& memory, const Launch& launch,
                             const Options& options, Run* run);

// Runs all blocks.
LaunchReport run_blocks(Run& run, const Options& options);

}  // namespace moe4::ptx
