// What two runs of one launch say about memory that nothing wrote. The runs differ only in the pattern that
// such memory and registers read as, so every difference between them is a dependence on it; stale values
// that reach nothing make no difference and no alarm.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpu/ptx/ptx.h"

namespace moe4::gpu {

struct OutputDifference {
  std::uint64_t bytes = 0;  // how many differ, or were written in one run only
  std::uint64_t first = 0;  // offset of the first
};

// Bytes of an output buffer at the same address in both memories. Those that neither run wrote do not count.
std::optional<OutputDifference> compare_output(const ptx::Memory& one, const ptx::Memory& other,
                                               std::uint64_t address, std::uint64_t bytes);

ptx::Finding finding_of(const std::string& kernel, const std::string& buffer,
                        const OutputDifference& difference);

// Adds to `findings` what only the second run found, and a finding if the runs took different branches or
// used different addresses.
void add_differences(const std::string& kernel, const ptx::LaunchReport& one, const ptx::LaunchReport& other,
                     std::vector<ptx::Finding>& findings);

}  // namespace moe4::gpu
