// Text of unknown origin, before it is shown.
#pragma once

#include <string>
#include <string_view>

namespace moe4::oracle {

// Bytes that a terminal would obey become \x1b; what is no UTF-8 becomes \xff. The ends of lines stay if
// asked for.
std::string printable(std::string_view text, bool lines = false);

}  // namespace moe4::oracle
