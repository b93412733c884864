// A number and its noun, for messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace moe4::oracle {

// "1 case", "2 cases".
inline std::string counted(std::int64_t n, std::string_view noun) {
  return std::to_string(n) + " " + std::string(noun) + (n == 1 ? "" : "s");
}

}  // namespace moe4::oracle
