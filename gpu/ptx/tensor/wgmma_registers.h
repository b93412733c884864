// Registers that wgmma uses: between wgmma and the wait for it nobody may touch them, and between any other
// use and a wgmma lies a wgmma.fence.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/ptx/run/warp.h"

namespace moe4::ptx {

// Of one warp; slots are those of Function::held_slots.
struct HeldRegisters {
  struct Slot {
    std::uint16_t accumulates = 0, feeds = 0;  // pending instructions that have it as accumulator, as A
    std::uint32_t by = 0;                      // the last of them
    std::uint32_t touched = kNever;            // by another instruction since the last wgmma.fence
  };
  static constexpr std::uint32_t kNever = 0xffffffffu;
  std::vector<Slot> slots;
  bool fenced = false;  // any wgmma.fence so far
};

// Before an instruction of Function::touches_held runs.
void check_held_registers(Warp& warp, const Instr& instr);

}  // namespace moe4::ptx
