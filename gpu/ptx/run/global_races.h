// Who used which location of a writable buffer in this launch.
#pragma once

#include <cstdint>
#include <functional>

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
  bool strong = false;       // a reduction
};
void note_global_pending(Warp& warp, const Instr& instr, unsigned lane, const GlobalRange& range);
// A lane's bulk copy reads the tensor map there.
void note_map_use(Warp& warp, const Instr& instr, const Buffer& buffer, unsigned lane, std::uint64_t offset,
                  std::uint64_t bytes);
// Calls visit(block, who, instruction) for the last writes of this launch to a range, in order of addresses.
void for_last_writes(const Buffer& buffer, std::uint64_t offset, std::uint64_t bytes,
                     const std::function<void(std::uint64_t, Who, std::uint32_t)>& visit);
// … until it is complete: from now on an access of `who`.
void note_global_complete(Block& block, const GlobalRange& range, unsigned warp, unsigned lane, Who who);

}  // namespace moe4::ptx
