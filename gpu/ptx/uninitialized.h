// Does a launch depend on memory or registers that nothing wrote?
//
// The kernel runs with two or three patterns in everything unwritten. When a counted output, a branch or an
// address differs, a further run follows unwritten bytes through registers and memory and names the load that
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
//
// patterns: 2 compares Options::poison with zeros (with all ones when it is zero itself). A branch that both
// answer alike, such as x > 1 for NaN and 0, is not seen then; 3 adds a large positive number.
LaunchReport launch_checked(const Module& module, Memory& memory, const Launch& launch,
                            const Options& options, std::span<const CountedRange> counted = {},
                            int patterns = 2);

}  // namespace moe4::ptx
