// JSON in which nothing is said twice: nlohmann keeps the last of two equal keys, which would hide a line.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "reference/status.h"

namespace moe4::oracle {

// An Error names `what` and the byte, or the key that one object has twice. Depth is bounded.
Result<nlohmann::ordered_json> parse_strict_json(std::string_view text, const std::string& what);

}  // namespace moe4::oracle
