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

// A run of bytes that an asynchronous copy reads or (bulk stores) writes: pending from its issue …
struct GlobalRange {
  const Buffer& buffer;
  std::uint64_t offset = 0, bytes = 0;
  bool write = false;
  bool async_proxy = false;  // all but cp.async
};
void note_global_pending(Warp& warp, const Instr& instr, unsigned lane, const GlobalRange& range);
// … until it is complete: from now on an access of `who`.
void note_global_complete(Block& block, const GlobalRange& range, unsigned warp, unsigned lane, Who who);

}  // namespace moe4::ptx
