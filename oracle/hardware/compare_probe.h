// Recorded bits against the executor's. A difference is MODEL: the executor models the chip wrongly, and no
// kernel is at fault.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "oracle/hardware/probe.h"
#include "oracle/hardware/recording.h"

namespace moe4::oracle {

// Counts of results. Exact instructions: equal bits, or both NaN. Approximate ones: within the ISA's bound
// and half a unit of the executor's own rounding; bits where the ISA's tables give them (an operand that is
// zero or not finite).
struct ProbeComparison {
  const Probe* probe = nullptr;
  std::uint64_t results = 0;
  std::uint64_t equal = 0;         // to the bit
  std::uint64_t nan_payloads = 0;  // both NaN, other bits
  std::uint64_t within = 0;        // approximate, not equal
  std::uint64_t different = 0;
  std::vector<std::string> first;  // of the different: operands and both results in hex, at most 4
  bool model() const { return different > 0; }
};

// Precondition: recording.probe is the probe's name, and executor has the size of recording.result.
ProbeComparison compare_probe(const Probe& probe, const Recording& recording,
                              const std::vector<std::byte>& executor);

}  // namespace moe4::oracle
