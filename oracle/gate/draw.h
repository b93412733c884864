// Random case lines inside of what subjects accept.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "oracle/subject/declaration.h"

namespace moe4::oracle {

// The index-th case of a sequence: a function of its arguments alone. Sizes are bounded so that
// a case takes about a second at most on the executor. Every case is valid and accepted by at least one
// declaration; nullopt if none was found in many draws.
std::optional<Case> draw_case(const std::vector<const Declaration*>& declarations, std::uint64_t seed,
                              std::uint64_t index);

}  // namespace moe4::oracle
