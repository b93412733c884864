// What is checked and counted at an access to memory.
#pragma once

#include <cstdint>

#include "gpu/ptx/run/access.h"

namespace moe4::ptx {

void hash_addresses(Warp& warp, const std::uint64_t* addresses, LaneMask mask);

// Wavefronts beyond those that `bytes` a lane need, by the 32 banks of 4 bytes.
std::uint64_t bank_conflicts(const std::uint64_t* addresses, LaneMask mask, unsigned bytes);

// One lane of each address. second (32 entries, may be null): a further lane with the same address, else the
// lane.
LaneMask distinct_lanes(const std::uint64_t* addresses, LaneMask mask, std::uint8_t* second = nullptr);

// Lanes that store different values to one location in one instruction.
void check_lane_conflicts(Warp& warp, const Instr& instr, const MemoryOp& op, const Target& target,
                          const std::uint64_t* addresses);

void note_shared_read(Warp& warp, const Instr& instr, const MemoryOp& op, const Target& target,
                      const std::uint64_t* addresses);
void note_shared_write(Warp& warp, const Instr& instr, const MemoryOp& op, const Target& target,
                       const std::uint64_t* addresses, bool strong);

// One 16-byte row of a matrix a lane. What counts is who holds the elements, not who gives the address: the
// lanes 4(L mod 8) … + 3 for the row of lane L, and for a transposed matrix those of its columns.
void note_matrix_read(Warp& warp, const Instr& instr, const Target& target, const std::uint64_t* addresses,
                      bool transposed);
void note_matrix_write(Warp& warp, const Instr& instr, const Target& target, const std::uint64_t* addresses,
                       bool transposed);

// A conflict that SharedRaces has found, as a finding. formal: Finding::formal.
// owner: whose shared memory, the block's own by default.
void report_shared(Warp& warp, std::uint32_t instr, std::uint64_t address, bool wrote,
                   const SharedRaces::Conflict& conflict, bool formal = false, Block* owner = nullptr);

}  // namespace moe4::ptx
