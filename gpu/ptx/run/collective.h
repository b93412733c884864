// Instructions that several lanes execute together.
#pragma once

#include "gpu/ptx/run/warp.h"

namespace moe4::ptx {

// True when the running lanes may execute the instruction: its guard holds for all of them, and all live
// lanes of `needs` are here. Otherwise they are set aside until the missing lanes come;
// all_or_exit: lanes that neither come nor were about to exit are an error.
bool gather(Warp& warp, const Instr& instr, LaneMask mask, LaneMask needs, bool all_or_exit = false);

// For instructions with a member mask in a register: the lanes that execute it together now, 0 when they have
// to wait or the masks contradict each other (a fault).
LaneMask gather_members(Warp& warp, const Instr& instr, LaneMask mask, const std::uint32_t* masks);

// The lanes of `mask` leave the others behind, who go on with the next instruction.
bool split_by_guard(Warp& warp, const Instr& instr, LaneMask mask);

}  // namespace moe4::ptx
