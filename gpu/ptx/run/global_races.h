// Who used which location of a writable buffer in this launch.
#pragma once

#include <cstdint>

#include "gpu/ptx/run/access.h"

namespace moe4::ptx {

// Makes the tables of all writable buffers for a launch.
void start_global_races(Run& run);

void note_global_read(Warp& warp, const Instr& instr, const MemoryOp& op, const Target& target,
                      const std::uint64_t* addresses);
void note_global_write(Warp& warp, const Instr& instr, const MemoryOp& op, const Target& target,
                       const std::uint64_t* addresses, bool strong);

// Acquire and release on global memory, and on shared memory within the block.
void note_acquire(Warp& warp, const Target& target, const std::uint64_t* addresses);
void note_release(Warp& warp, const MemoryOp& op, const Target& target, const std::uint64_t* addresses);

}  // namespace moe4::ptx
