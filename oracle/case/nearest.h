// "did you mean": the known name that is the fewest edits away from what was typed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace moe4::oracle {

// The first of `known` with the smallest edit distance to `name` (letter case ignored); empty if `known` is.
std::string nearest_name(std::string_view name, const std::vector<std::string>& known);

}  // namespace moe4::oracle
