// A probe as a PTX module with one entry, "probe": parameters result, operand_0 … (those in memory) and count
// (u32). Scalar probes: thread i of the grid is instance i, and those from count on do nothing. Matrix
// products: block i is instance i, of threads_of(probe) threads.
#pragma once

#include <string>

#include "oracle/hardware/probe.h"

namespace moe4::oracle {

inline constexpr std::uint32_t kScalarThreads = 128;  // a block
std::uint32_t threads_of(const Probe& probe);

std::string probe_ptx(const Probe& probe);

}  // namespace moe4::oracle
