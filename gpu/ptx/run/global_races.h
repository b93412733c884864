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

// A strong read, and a strong write: what they tell about the order of other accesses.
void note_observed(Warp& warp, const MemoryOp& op, const Target& target, const std::uint64_t* addresses);
void note_published(Warp& warp, const MemoryOp& op, const Target& target, const std::uint64_t* addresses);

// A run of bytes of a bulk copy, as an access of the lane that issues it.
void note_global_range(Warp& warp, const Instr& instr, const Buffer& buffer, unsigned lane,
                       std::uint64_t offset, std::uint64_t bytes, bool write);

}  // namespace moe4::ptx
