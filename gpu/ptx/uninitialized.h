// Does a launch depend on memory or registers that nothing wrote?
//
// The kernel runs twice, with two patterns in everything unwritten. When a counted output, a branch or an
// address differs, a third run follows unwritten bytes through registers and memory and names the load that
// read them (Finding::place) and where it mattered (Finding::other). Stale reads whose values change nothing
// are no finding.
#pragma once

#include <cstdint>
#include <span>

#include "gpu/ptx/ptx.h"

namespace moe4::ptx {

// Bytes of a writable buffer whose values count. Bytes that the launch does not write are not compared.
struct CountedRange {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

// As launch(), and kUninitialized findings. No ranges: all writable buffers count. The memory ends as after
// one launch with Options::poison. Without Options::checks this is launch().
LaunchReport launch_checked(const Module& module, Memory& memory, const Launch& launch,
                            const Options& options, std::span<const CountedRange> counted = {});

}  // namespace moe4::ptx
