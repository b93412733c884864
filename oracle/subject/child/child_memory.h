// How much memory the processes hold that a process started.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace moe4::oracle {

// Resident bytes of all descendants of the process, as /proc tells now; pages that two of them share count
// twice. Address space that is reserved and not touched (CUDA and sanitizers reserve a lot) does not count.
std::uint64_t resident_bytes_below(pid_t process);

}  // namespace moe4::oracle
