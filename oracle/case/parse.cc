#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "oracle/case/case.h"
#include "oracle/case/keys.h"
#include "oracle/case/nearest.h"
#include "oracle/case/words.h"

namespace moe4::oracle {
namespace {

Status set_pair(Case& c, std::string_view pair, std::vector<std::string>& seen) {
  const std::size_t equals = pair.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == pair.size()) {
    return Error{"case", std::string(pair), "CASE-1: a case line is blank-separated key=value pairs"};
  }
  const std::string_view name = pair.substr(0, equals);
  const std::string_view value = pair.substr(equals + 1);
  for (const CaseKey& key : case_key_table()) {
    if (key.name != name) continue;
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
      return Error{std::string(name), std::string(value), "CASE-1: a key stands at most once"};
    }
    seen.emplace_back(name);
    return key.set(c, name, value);
  }
  const std::vector<std::string> known = case_keys();
  return Error{std::string(name), std::string(value),
               fmt::format("CASE-2: no such key; did you mean {}? known: {}", nearest_name(name, known),
                           fmt::join(known, " "))};
}

}  // namespace

Result<Case> parse_case(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r\n";
  Case c;
  std::vector<std::string> seen;
  std::string_view rest = line;
  while (true) {
    const std::size_t begin = rest.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) break;
    rest.remove_prefix(begin);
    const std::size_t end = std::min(rest.find_first_of(kBlanks), rest.size());
    if (Status status = set_pair(c, rest.substr(0, end), seen)) return *status;
    rest.remove_prefix(end);
  }
  if (seen.empty())
    return Error{"case", std::string(line), "CASE-1: a case line has at least one key=value pair"};
  if (Status status = validate_case(c)) return *status;
  return c;
}

// CASE-12.
Result<std::vector<Case>> parse_case_list(std::string_view text) {
  std::vector<Case> cases;
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    Result<Case> c = parse_case(line);
    if (!c) {
      return Error{fmt::format("line {}: {}", number, c.error().field), c.error().value, c.error().rule};
    }
    cases.push_back(std::move(*c));
  }
  return cases;
}

}  // namespace moe4::oracle
