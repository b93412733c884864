// Any text is a case or an error that names a rule, and a case prints as a line that parses to itself.
#include <cstdlib>

#include "oracle/case/case.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto c = moe4::oracle::parse_case(text);
  if (!c) {
    if (c.error().rule.empty()) std::abort();
    return 0;
  }
  const auto again = moe4::oracle::parse_case(moe4::oracle::to_string(*c));
  if (!again || !(*again == *c)) std::abort();
  return 0;
}
