#include "oracle/file/strict_json.h"

#include <set>
#include <vector>

namespace moe4::oracle {

using Json = nlohmann::ordered_json;

namespace {

constexpr int kMaxDepth = 64;

// Brackets outside of strings: the parser recurses on destruction, so the depth is checked before it runs.
bool too_deep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t n = 0; n < text.size(); ++n) {
    const char c = text[n];
    if (quoted) {
      if (c == '\\') ++n;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxDepth) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

}  // namespace

Result<Json> parse_strict_json(std::string_view text, const std::string& what) {
  if (too_deep(text)) return Error{what, "more than 64 brackets open", "nested 64 deep at most"};
  std::vector<std::set<std::string>> open;
  std::string repeated;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && repeated.empty()) {
      const std::string key = parsed.get<std::string>();
      if (!open.back().insert(key).second) repeated = key;
    }
    return true;
  };
  Json json;
  try {
    json = Json::parse(text, watch);
  } catch (const Json::parse_error& error) {
    return Error{what, "byte " + std::to_string(error.byte), "not JSON (RFC 8259)"};
  } catch (const Json::exception& error) {
    return Error{what, error.what(), "JSON numbers within a double's range"};
  }
  if (!repeated.empty()) return Error{what + "." + repeated, "twice", "each field once"};
  return json;
}

}  // namespace moe4::oracle
