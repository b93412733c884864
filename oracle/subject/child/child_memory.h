// How much memory a process and what it started hold.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace moe4::oracle {

// Resident bytes of the process and all its descendants, as /proc tells now; pages that two of them share
// count twice. Address space that is reserved and not touched (CUDA reserves a lot) does not count.
std::uint64_t resident_bytes(pid_t process);

}  // namespace moe4::oracle
