// Places and findings, from the tables of the program.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/ptx/program/program.h"
#include "gpu/ptx/ptx.h"

namespace moe4::ptx {

// Line, text and source line of an instruction; block and thread are left zero.
Place place_of(const Program& program, const Function& function, std::uint32_t instr);

std::string hex(std::uint64_t value);
std::string to_string(Dim3 dim);

}  // namespace moe4::ptx
