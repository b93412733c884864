#include "oracle/report/printable.h"

#include <fmt/core.h>

namespace moe4::oracle {
namespace {

// The length of the UTF-8 sequence at the beginning of `text` (RFC 3629); 0: it is none, or a C1 control.
std::size_t sequence(std::string_view text) {
  const auto byte = [&](std::size_t n) { return static_cast<unsigned char>(text[n]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xC2 && first < 0xE0   ? 2
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t n = 1; n < length; ++n) {
    if ((byte(n) & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = byte(1);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool beyond = (first == 0xED && second >= 0xA0) || (first == 0xF4 && second >= 0x90);
  const bool control = first == 0xC2 && second < 0xA0;
  return overlong || beyond || control ? 0 : length;
}

}  // namespace

std::string printable(std::string_view text, bool lines) {
  std::string shown;
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text.front());
    const std::size_t length = sequence(text);
    if (length == 0 || (byte < 0x20 && !(lines && byte == 0x0A)) || byte == 0x7F) {
      shown += fmt::format("\\x{:02x}", byte);
      text.remove_prefix(1);
    } else {
      shown += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return shown;
}

std::string escape_markup(std::string_view text) {
  std::string out;
  for (const char c : printable(text, true)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace moe4::oracle
