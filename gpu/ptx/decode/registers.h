// Places virtual registers in the register file of a warp. Two registers share a place only when no path of a
// thread needs both; a register that may be read before it is written keeps its place from the entry on and
// is filled with poison there, so that an unwritten register never shows another register's value.
#pragma once

#include <vector>

#include "gpu/ptx/decode/decoder.h"

namespace moe4::ptx {

// Rewrites the operands of all instructions from virtual registers to places. False: too many registers.
bool place_registers(const std::vector<VirtualRegister>& registers, Function* function);

}  // namespace moe4::ptx
