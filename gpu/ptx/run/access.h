// Where the addresses of a memory instruction lead.
#pragma once

#include <bit>
#include <cstdint>

#include "gpu/ptx/run/block.h"

namespace moe4::ptx {

// A piece of one space that holds the accesses of some lanes whole.
struct Target {
  Space space = Space::kGlobal;  // never kGeneric
  Buffer* buffer = nullptr;      // global
  Block* owner = nullptr;        // shared: whose; the block itself, or another one of the cluster
  std::byte* host = nullptr;     // of address `origin`
  std::uint64_t origin = 0;
  std::uint64_t lane_stride = 0;  // local memory
  LaneMask lanes = 0;

  std::byte* at(std::uint64_t address, unsigned lane) const {
    return host + (address - origin) + lane * lane_stride;
  }
};

// The addresses of the lanes. Those of a generic access carry their window.
void read_addresses(Warp& warp, const Instr& instr, const MemoryOp& op, std::uint64_t* addresses);

// Takes the lanes of the first target out of *left. Addresses become relative to the space they lead to.
// False: a fault was reported and the block is over.
bool next_target(Warp& warp, const Instr& instr, const MemoryOp& op, bool store, std::uint64_t* addresses,
                 LaneMask* left, Target* target);

inline unsigned first_lane(LaneMask mask) { return static_cast<unsigned>(std::countr_zero(mask)); }

// Runs body(lane) for each lane of the mask.
template <class Body>
inline void for_lanes(LaneMask mask, const Body& body) {
  for (; mask != 0; mask &= mask - 1) body(first_lane(mask));
}

// Runs body(lanes, address) for each address that some lanes have.
template <class Address, class Body>
inline void for_each_address(const Address* addresses, LaneMask mask, const Body& body) {
  while (mask != 0) {
    const Address address = addresses[first_lane(mask)];
    LaneMask alike = 0;
    for_lanes(mask, [&](unsigned lane) {
      if (addresses[lane] == address) alike |= LaneMask{1} << lane;
    });
    body(alike, address);
    mask &= ~alike;
  }
}

}  // namespace moe4::ptx
