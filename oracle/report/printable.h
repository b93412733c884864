// Text of unknown origin, before it is shown.
#pragma once

#include <string>
#include <string_view>

namespace moe4::oracle {

// Bytes that a terminal would obey become \x1b; what is no UTF-8 becomes \xff. The ends of lines stay if
// asked for.
std::string printable(std::string_view text, bool lines = false);

// The same with its lines, as text or as the value of an attribute in HTML and XML. XML 1.0 has no way to
// write most control characters.
std::string escape_markup(std::string_view text);

}  // namespace moe4::oracle
