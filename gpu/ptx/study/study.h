// What can be said of an entry from its text alone, also where the executor cannot run it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/ptx/ptx.h"

namespace moe4::ptx {

struct OpcodeCount {
  std::string opcode;  // as written, "ld.global.v4.u32"
  std::int64_t count = 0;
};

// A product that ptxas may fuse with the sum that it feeds: neither names a rounding (`mul.f32`, not
// `mul.rn.f32`), so that the product is rounded or not as ptxas likes (PTX ISA, add and mul: "may be
// optimized aggressively"). Found by registers, without flow: a register that is written elsewhere too may be
// reported though this product never reaches the sum.
struct FreeRounding {
  int line = 0, sum_line = 0;
  std::string product, sum;
};

struct Study {
  std::vector<OpcodeCount> histogram;  // most frequent first, then by name
  std::vector<FreeRounding> free_roundings;
};

// Of the entry alone, without the functions that it calls. nullopt: the text does not parse, or has no such
// entry.
std::optional<Study> study(std::string_view ptx, std::string_view entry, Error* error);

}  // namespace moe4::ptx
